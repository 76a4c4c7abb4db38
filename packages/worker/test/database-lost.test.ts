import { Pgque } from "@pgque/client";
import { expect, test } from "vitest";
import { freshDatabase, ownServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, startWorker, unfinished } from "./support/worker.ts";

const brief = { leaseMs: 1000, heartbeatIntervalMs: 200, concurrency: 5 };

test("a worker outlives a restart of the server and handles what is sent after it", async () => {
  await using own = await ownServer();
  const pgque = new Pgque(own.pool());
  const queue = await freshQueue(pgque);
  const handled = new Set<unknown>();
  await startWorker(pgque, queue, ({ payload }) => void handled.add(payload), brief);
  for (const round of ["before", "after one", "after two"]) {
    const payloads = Array.from({ length: 50 }, (_, i) => `${round} ${i}`);
    // with keys: one whose connection is found to be lost is run again
    await pgque.sendMany(queue, payloads, { dedupeKeys: payloads });
    await until(() => payloads.every((payload) => handled.has(payload)), `all of ${round} are handled`);
    await own.server.restart({ immediate: true });
  }
});

test("a worker whose connections are cut again and again loses nothing", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  const pgque = new Pgque(database.pool());
  const queue = await freshQueue(pgque, { maxRetries: 100 });
  const payloads = Array.from({ length: 600 }, (_, i) => i);
  const times = new Map<unknown, number>();
  await startWorker(
    pgque,
    queue,
    async ({ payload }) => {
      times.set(payload, (times.get(payload) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 1));
    },
    brief,
  );
  for (let from = 0; from < payloads.length; from += 100) {
    await admin.query("select pgque.send_batch($1, $2::text[])", [
      queue.name,
      payloads.slice(from, from + 100).map(String),
    ]);
    await until(() => times.size > from + 20, "some of them are handled");
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
  }
  await until(() => payloads.every((payload) => times.has(payload)), "all are handled");
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all are acked");
  expect((await unfinished(pgque, queue)).dead).toBe(0);
});
