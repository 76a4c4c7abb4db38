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
  // in flight until then: a worker without a lease sends no heartbeat
  const handler = async ({ payload }: { payload: unknown }): Promise<void> => {
    await until(async () => (await pgque.runtime.workers()).length === 1, "its heartbeat is seen");
    handled.push(payload);
  };
  const worker = makeWorker(pgque, queue, handler, { retryMinMs: 10, retryMaxMs: 10 });
  await worker.start();
  const signal = new AbortController().signal;
  const { id } = await pgque.send(queue, "one", { dedupeKey: "k", signal });
  expect(await pgque.send(queue, "two", { dedupeKey: "k" })).toEqual({ id, deduplicated: true });
  await pgque.send(queue, "later", { delayMs: 10 });
  await until(() => handled.length === 2, "both are handled");
  expect(new Set(handled)).toEqual(new Set(["later", "one"]));
  expect((await pgque.pool.query(`show ${name}`)).rows, "which is as it was").toEqual([{ [name]: value }]);
  await worker.stop();
});
