import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { Pgque } from "@pgque/client";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const brief = { leaseMs: 1000, heartbeatIntervalMs: 200 };

test("a heartbeat keeps a message for as long as its handler runs", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "long");
  const { open, passed } = gate();
  const calls: string[] = [];
  const handler = (name: string) => async (): Promise<void> => {
    calls.push(name);
    await passed;
  };
  await startWorker(pgque, queue, handler("first"), brief);
  await until(() => calls.length === 1, "it is handled");
  await startWorker(pgque, queue, handler("second"), brief);
  // three leases later, by the clock that decides
  const { rows } = await pgque.pool.query("select clock_timestamp() + '3 s' as later");
  await until(async () => {
    const { rows: now } = await pgque.pool.query("select clock_timestamp() > $1 as reached", [rows[0].later]);
    return now[0].reached;
  }, "three leases have passed");
  expect(calls).toEqual(["first"]);
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "it is acked");
  expect(calls).toEqual(["first"]);
});

test("what a worker that was killed had in hand is handled by another, once each; what it had acked does not come again", async () => {
  const queue = await freshQueue(pgque);
  const payloads = Array.from({ length: 40 }, (_, i) => i);
  await pgque.sendMany(queue, payloads);
  const killed = workerProcess(queue.name);
  const done = new Set<number>();
  let blocked = false;
  killed.stdout?.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) {
      if (line === "blocked") blocked = true;
      else done.add(Number(line));
    }
  });
  await until(() => blocked && done.size === 39, "one handler is blocked, the rest is handled");
  const acked = async (): Promise<boolean> => {
    const { rows } = await pgque.pool.query("select id from pgque.queue where name = $1", [queue.name]);
    const { rows: outcomes } = await pgque.pool.query(`select from pgque.outcome_${rows[0].id}`);
    return outcomes.length > 0;
  };
  await until(acked, "what was handled beside it is acked");
  killed.kill("SIGKILL");
  await once(killed, "exit");

  const again: [unknown, number][] = [];
  await startWorker(pgque, queue, ({ payload, attempt }) => void again.push([payload, attempt]), brief);
  await until(() => again.some(([payload]) => payload === 0), "the blocked one is handled by another worker");
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all is acked");
  expect(again).toContainEqual([0, 2]);
  expect(new Set(again.map(([payload]) => payload)).size).toBe(again.length);
  expect(new Set([...done, 0])).toEqual(new Set(payloads));
});

/** A worker in a process of its own: writes what it handled; payload 0 blocks. */
function workerProcess(queue: string): ChildProcess {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "support/worker-process.ts"), queue], {
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
