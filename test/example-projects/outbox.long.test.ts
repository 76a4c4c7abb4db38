import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { freePort, isWaiting, packed, pgque, post, start, statusOf } from "./project.ts";

const installed = packed();

test("the example of an outbox sends if and only if an order commits, and ships each order once", async () => {
  const project = installed("outbox");
  await using database = await freshDatabase();
  const [admin, holder] = [await database.connect(), await database.connect()];
  pgque(project, database.url, "queue", "create", "orders-placed");
  await admin.query(readFileSync(path.join(project, "schema.sql"), "utf8"));
  const port = await freePort();
  const variables = { DATABASE_URL: database.url, PORT: String(port) };
  const service = start(project, ["service.ts"], variables);
  const url = `http://127.0.0.1:${port}/orders`;
  const ids = async (table: string, column: string) =>
    (await admin.query(`select ${column} as id from public.${table} order by 1`)).rows.map(({ id }) => id);
  const sent = async () =>
    (await admin.query("select payload::jsonb ->> 'orderId' as id from pgque.peek('orders-placed')")).rows.map(
      ({ id }) => id,
    );

  await until(async () => service.child.exitCode !== null || (await statusOf(url)) === 404, "it listens", 60_000);
  expect(service.child.exitCode, service.output()).toBe(null);
  expect(await post(url, {})).toMatchObject([400, {}]);
  expect(await post(url, { item: "milk" })).toMatchObject([409, {}]);
  expect(await post(url, { item: "tea" })).toEqual([202, { orderId: "2" }]);

  // the connection is lost after the send, before the commit
  await holder.query("begin");
  await holder.query("lock table public.stock in share mode");
  const lost = post(url, { item: "tea" });
  await until(() => isWaiting(admin), "the order waits for the stock");
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  expect(await lost).toMatchObject([500, {}]);
  await holder.query("rollback");

  expect(await post(url, { item: "tea" })).toEqual([202, { orderId: "4" }]);
  expect(await post(url, { item: "tea" })).toMatchObject([409, {}]);
  expect(await ids("orders", "id")).toEqual(["2", "4"]);
  expect(await sent()).toEqual(["2", "4"]);

  // a worker is killed with its shipments written and not committed
  await holder.query("begin");
  await holder.query("lock table public.orders in access exclusive mode");
  const killed = start(project, ["worker.ts"], variables);
  await until(() => isWaiting(admin), "a handler waits for the order", 60_000);
  killed.child.kill("SIGKILL");
  await killed.closed;
  await holder.query("rollback");
  expect(await ids("shipments", "order_id")).toEqual([]);

  const worker = start(project, ["worker.ts"], variables);
  await until(async () => (await ids("shipments", "order_id")).length >= 2, "both are shipped", 60_000);
  worker.child.kill("SIGTERM");
  service.child.kill("SIGTERM");
  expect(await worker.closed, worker.output()).toEqual([0, null]);
  expect(await service.closed, service.output()).toEqual([0, null]);
  expect(await ids("shipments", "order_id")).toEqual(["2", "4"]);
});
