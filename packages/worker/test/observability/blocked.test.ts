import { Pgque } from "@pgque/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../../../test/support/database.ts";
import { createIntruder, intrude } from "../../../../test/support/intruder.ts";
import { backendPid } from "../../../../test/support/interleave.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, startWorker } from "../support/worker.ts";

let server: OwnServer;
beforeAll(async () => {
  server = await ownServer();
  await createIntruder(server);
});
afterAll(() => server.drop());

const soon = { lostAfterMs: 500 };

test("a worker whose cursor a login without any right has locked is not ready, and names the process", async () => {
  const pgque = new Pgque(server.pool());
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const worker = await startWorker(pgque, queue, (message) => void handled.push(message.payload), {
    queryTimeoutMs: 5000,
  });
  await until(() => worker.health(soon).isReady && worker.health(soon).waiting === "listening", "it is ready");
  const intruder = await intrude(server);
  const admin = await server.connect();
  const { rows } = await admin.query("select key from pgque.lock_purposes('postgres') where purpose = 'cursor'");
  await intruder.query("select pg_advisory_lock($1::bigint)", [rows[0].key]);
  const pid = await backendPid(intruder);
  await pgque.send(queue, 1);
  const named = (): boolean => worker.health(soon).reasons.some((reason) => reason.includes(`process ${pid} `));
  await until(named, "the process is named");
  const { isReady, reasons } = worker.health(soon);
  expect(isReady).toBe(false);
  expect(reasons[0]).toMatch(
    new RegExp(
      `^receiving has .* for \\d+ s.*; process ${pid} \\(intruder, user mallory\\) holds the lock of its consumer's cursor since 20.*: select pg_terminate_backend\\(${pid}\\) ends that$`,
    ),
  );
  // also once a receive was given up and the next one has just begun
  await until(() => worker.health(soon).failing.some(({ part }) => part === "receiving"), "a receive was given up");
  expect(worker.health({ lostAfterMs: 4000 })).toMatchObject({
    isReady: false,
    reasons: [expect.stringContaining(`process ${pid} `)],
  });
  expect(handled).toEqual([]);
  await admin.query("select pg_terminate_backend($1)", [pid]);
  await until(() => handled.length === 1, "it is handled");
  await until(() => worker.health(soon).isReady, "it is ready again");
});
