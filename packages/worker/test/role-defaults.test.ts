import { Pgque } from "@pgque/client";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, makeWorker } from "./support/worker.ts";

test.each([
  ["default_transaction_isolation", "serializable"],
  ["default_transaction_isolation", "repeatable read"],
  ["default_transaction_read_only", "on"],
])("client and worker work where %s is %s for the role or the database", async (name, value) => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  const [{ current }] = (await admin.query("select current_database() as current")).rows;
  await admin.query(`alter database ${current} set ${name} = '${value}'`);
  const pgque = new Pgque(database.pool());
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const worker = makeWorker(pgque, queue, ({ payload }) => void handled.push(payload), {
    retryMinMs: 10,
    retryMaxMs: 10,
  });
  await worker.start();
  const signal = new AbortController().signal;
  const id = await pgque.send(queue, "one", { dedupeKey: "k", signal });
  expect(await pgque.send(queue, "two", { dedupeKey: "k" })).toBe(id);
  await pgque.send(queue, "later", { delayMs: 10 });
  await until(() => handled.length === 2, "both are handled");
  expect(new Set(handled)).toEqual(new Set(["later", "one"]));
  await until(async () => (await pgque.runtime.workers()).length === 1, "its heartbeat is seen");
  expect((await pgque.pool.query(`show ${name}`)).rows, "which is as it was").toEqual([{ [name]: value }]);
  await worker.stop();
});
