import type { Client } from "pg";
import { beforeEach, expect, test } from "vitest";
import { defineQueue, type Pgque } from "@pgque/client";
import { until } from "../../../test/support/until.ts";
import { failure, freshClient } from "./support/client.ts";

const { pgque, database } = await freshClient();
const admin: Client = await database.connect();
const observer = await database.connect();
const orders = defineQueue("orders");
beforeEach(async () => {
  await pgque.ensure(orders);
  await pgque.subscribe(orders, "mail");
});

const calls: [what: string, call: (of: Pgque) => Promise<unknown>][] = [
  ["send", (of) => of.send(orders, 1)],
  ["sendMany", (of) => of.sendMany(orders, [1])],
  ["a delayed send", (of) => of.send(orders, 1, { delayMs: 60_000 })],
  ["a send with a dedupe key", (of) => of.send(orders, 1, { dedupeKey: "a" })],
  ["receive", (of) => of.receive(orders, { consumer: "mail" })],
  ["seek", (of) => of.consumers.seek(orders, "mail", "latest")],
  ["subscribe", (of) => of.subscribe(orders, "other")],
  ["status", (of) => of.queues.status(orders)],
  ["peek", (of) => of.messages.peek(orders)],
];

test.each(calls)("%s that waits while its queue is dropped says that there is none", async (_, call) => {
  await admin.query("begin; select pgque.drop_queue('orders', true)");
  const { rows } = await admin.query<{ pid: number }>("select pg_backend_pid() as pid");
  const failed = failure(call(pgque));
  await until(async () => {
    const waiting = await observer.query("select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))", [
      rows[0]?.pid,
    ]);
    return waiting.rows.length > 0;
  }, "it waits");
  await admin.query("commit");
  const { code, message, details } = await failed;
  expect({ code, queue: details.queue }).toEqual({ code: "QUEUE_NOT_FOUND", queue: "orders" });
  expect(message).toMatch(/^queue not found: orders(, it was dropped while the call waited \(.+\))?\. Create it with/);
});
