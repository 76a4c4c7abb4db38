import { Pool } from "pg";
import postgres from "postgres";
import { afterAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineQueue, type Pgque } from "@pgque/client";
import { testPgque, type TestPgque } from "@pgque/client/testing";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { failure } from "../support/client.ts";

const database = await freshDatabase();
afterAll(() => database.drop());
const pool = database.pool();
const fresh = await testPgque(pool);
const { pgque } = fresh;
const orders = defineQueue("orders", { payload: z.object({ orderId: z.number() }) });
const events = defineQueue("events", {
  types: {
    placed: z.object({ orderId: z.number() }),
    paid: z.object({ at: z.string().transform((at) => new Date(at)) }),
  },
});
const urgent = defineQueue("urgent", { priorities: 10, allowExpiry: true });
const accounts = defineQueue("accounts", { partitions: 16 });
for (const queue of [orders, events, urgent, accounts]) await pgque.ensure(queue);
await pgque.subscribe(orders);

beforeEach(() => fresh.clear());

const payloads = async (of: TestPgque = fresh): Promise<unknown[]> => (await of.sent(orders)).map((m) => m.payload);

/** Code under test, with a transaction of its own. */
async function checkout(pgque: Pgque, orderId: number, pay: () => Promise<void>): Promise<void> {
  const tx = await pgque.pool.connect();
  try {
    await tx.query("begin");
    await pgque.inTransaction(tx).send(orders, { orderId });
    await pay();
    await tx.query("commit");
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
}

test("what code under test has sent is seen when its transaction commits, and not when it rolls back", async () => {
  await checkout(pgque, 1, async () => undefined);
  await expect(checkout(pgque, 2, () => Promise.reject(new Error("declined")))).rejects.toThrow("declined");
  expect(await payloads()).toEqual([{ orderId: 1 }]);
});

test("a message that was sent says all that its sender did", async () => {
  const at = new Date(Date.now() + 3_600_000);
  const { id } = await pgque.send(urgent, null, {
    type: "call",
    headers: { tenant: "a" },
    priority: 2,
    at,
    expiresAt: new Date(at.getTime() + 1000),
  });
  await pgque.send(accounts, "open", { key: "a" });
  expect(await fresh.sent(urgent)).toStrictEqual([
    {
      id,
      type: "call",
      payload: null,
      headers: { tenant: "a" },
      priority: 2,
      key: null,
      dueAt: at,
      expiresAt: new Date(at.getTime() + 1000),
      createdAt: expect.any(Date),
    },
  ]);
  expect(await fresh.sent(accounts)).toMatchObject([{ key: "a", priority: null, headers: {}, dueAt: null }]);
});

test("messages come in the order in which they were sent, delayed ones among them", async () => {
  await pgque.send(orders, { orderId: 1 }, { delayMs: 60_000 });
  await pgque.send(orders, { orderId: 2 });
  await pgque.send(orders, { orderId: 3 }, { delayMs: 30 * 86_400_000 });
  await pgque.send(urgent, 1, { priority: 0 });
  await pgque.send(urgent, 2, { priority: 9 });
  expect(await payloads()).toEqual([{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }]);
  expect((await fresh.sent(urgent)).map((m) => m.payload)).toEqual([1, 2]);
});

test("messages are told apart by type and filtered by type and key, with the types of their payloads", async () => {
  await pgque.send(events, { orderId: 1 }, { type: "placed" });
  await pgque.send(events, { at: "2026-01-01T00:00:00Z" }, { type: "paid" });
  const paid = await fresh.sent(events, { type: "paid" });
  expect(paid.map((message) => message.payload.at.getUTCFullYear())).toEqual([2026]);
  const all = await fresh.sent(events);
  expect(all.map((message) => (message.type === "placed" ? message.payload.orderId : message.type))).toEqual([
    1,
    "paid",
  ]);
  await pgque.sendMany(accounts, [1, 2, 3], { keys: ["a", "b", null] });
  expect((await fresh.sent(accounts, { key: "b" })).map((m) => m.payload)).toEqual([2]);
});

test("what was received, retried or settled was sent once", async () => {
  await pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }]);
  const batch = await pgque.receive(orders);
  await batch.nack([batch.messages[0]?.id as string], { retryAfterMs: 0 });
  await batch.settle({ release: [batch.messages[1]?.id as string] });
  await pgque.maintain();
  expect(await payloads()).toEqual([{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }]);
});

test("a delayed message that was delivered is there once", async () => {
  await pgque.send(orders, { orderId: 1 }, { delayMs: 50 });
  await until(async () => {
    await pgque.maintain();
    return (await fresh.sent(orders))[0]?.dueAt === null;
  }, "the message is delivered");
  expect(await payloads()).toEqual([{ orderId: 1 }]);
});

test("thousands of messages are all there", async () => {
  const many = Array.from({ length: 2000 }, (_, orderId) => ({ orderId }));
  await pgque.sendMany(orders, many);
  expect(await payloads()).toEqual(many);
  await pgque.sendMany(orders, many, { delayMs: 60_000 });
  await pgque.send(orders, { orderId: -1 });
  expect(await payloads()).toEqual([...many, ...many, { orderId: -1 }]);
});

test("a look from inside a transaction sees what it has sent, and nobody else does", async () => {
  const tx = await database.connect();
  await tx.query("begin");
  await pgque.inTransaction(tx).send(orders, { orderId: 1 });
  await pgque.inTransaction(tx).send(orders, { orderId: 2 }, { delayMs: 60_000 });
  expect((await fresh.sent(orders, { transaction: tx })).map((m) => m.payload)).toEqual([
    { orderId: 1 },
    { orderId: 2 },
  ]);
  expect(await payloads()).toEqual([]);
  await tx.query("rollback");
});

test("the transaction may be one of any library, however it renames columns", async () => {
  const sql = postgres(database.url, { transform: postgres.pascal, onnotice: () => undefined });
  await sql.begin(async (tx) => {
    await pgque.inTransaction(tx).sendMany(orders, [{ orderId: 1 }, { orderId: 2 }], { headers: { tenant: "a" } });
    expect(await fresh.sent(orders, { transaction: tx })).toMatchObject([
      { type: "default", payload: { orderId: 1 }, headers: { tenant: "a" }, key: null, priority: null, dueAt: null },
      { payload: { orderId: 2 }, expiresAt: null, createdAt: expect.any(Date) },
    ]);
  });
  await sql.end();
  for (const transaction of [{}, pool, "tx"] as never[])
    expect((await failure(fresh.sent(orders, { transaction }))).message).toContain(
      "inTransaction: expected the open transaction of",
    );
});

test("clear empties every queue and leaves the rest as it was", async () => {
  await pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 2 }]);
  await pgque.send(urgent, 1);
  await pgque.send(orders, { orderId: 3 }, { delayMs: 60_000 });
  const { id: first } = await pgque.send(accounts, 1, { dedupeKey: "once" });
  await pgque.receive(orders, { max: 1, leaseMs: 1 });
  await fresh.clear();
  for (const queue of [orders, urgent, accounts]) expect(await fresh.sent<never>(queue.name)).toEqual([]);
  await pgque.maintain();
  expect((await pgque.send(accounts, 2, { dedupeKey: "once" })).id).not.toBe(first);
  await pgque.send(orders, { orderId: 4 });
  const batch = await pgque.receive(orders);
  expect([batch.messages.map((m) => m.payload), await payloads()]).toEqual([[{ orderId: 4 }], [{ orderId: 4 }]]);
});

test("clear throws dead letters away", async () => {
  const brittle = defineQueue("brittle", { maxRetries: 0 });
  await pgque.ensure(brittle);
  await pgque.subscribe(brittle);
  await pgque.send(brittle, 1);
  const batch = await pgque.receive(brittle);
  await batch.nack(batch.open);
  await fresh.clear();
  const letters = await pool.query(`select from ${fresh.schema}.dlq_inspect('brittle')`);
  expect(letters.rowCount).toBe(0);
});

test("fresh schemas are made at the same time in one database and do not meet", async () => {
  const [one, two] = await Promise.all([testPgque(pool), testPgque(database.url)]);
  await Promise.all([one, two].map((each) => each.pgque.ensure(orders)));
  await Promise.all([one.pgque.send(orders, { orderId: 1 }), two.pgque.send(orders, { orderId: 2 })]);
  expect([await payloads(one), await payloads(two), await payloads()]).toEqual([
    [{ orderId: 1 }],
    [{ orderId: 2 }],
    [],
  ]);
  await Promise.all([one.drop(), two.drop()]);
  await two.drop();
  expect(await schemas()).toEqual([fresh.schema]);
  expect(two.pgque.pool.ended).toBe(true);
  expect(pool.ended).toBe(false);
});

test("a fresh schema leaves nothing behind, in the database or the cluster, on a client of the caller's too", async () => {
  const client = await database.connect();
  {
    await using short = await testPgque(client, { prepare: true });
    await short.pgque.ensure(orders);
    await short.pgque.send(orders, { orderId: 1 });
    expect(await payloads(short)).toEqual([{ orderId: 1 }]);
  }
  expect(await schemas()).toEqual([fresh.schema]);
  // roles are the cluster's, where other tests make theirs
  expect((await pool.query("select rolname from pg_roles where rolname like 'pgque\\_test\\_%'")).rows).toEqual([]);
});

test("what could not be dropped can be dropped later", async () => {
  const stubborn = await testPgque(database.url);
  const holder = await database.connect();
  await holder.query(`begin; lock table ${stubborn.schema}.queue in access share mode`);
  const dropping = stubborn.drop().then(
    () => "dropped",
    () => "failed",
  );
  await until(async () => {
    const { rowCount } = await pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rowCount === 1;
  }, "it waits for the lock, and its connection is ended");
  expect(await dropping).toBe("failed");
  await holder.query("rollback");
  await stubborn.drop();
  expect(await schemas()).toEqual([fresh.schema]);
  expect(stubborn.pgque.pool.ended).toBe(true);
});

test("errors say what is wrong", async () => {
  expect((await failure(fresh.sent("missing"))).code).toBe("QUEUE_NOT_FOUND");
  expect((await failure(fresh.sent(orders, { typ: "x" } as never))).message).toContain(
    "known: type, key, transaction, signal",
  );
  expect((await failure(testPgque(undefined))).code).toBe("INVALID_OPTION");
  expect((await failure(testPgque(pool, null as never))).code).toBe("INVALID_OPTION");
  expect((await failure(testPgque(pool, { schema: "mine" } as never))).message).toContain("`schema`");
  await pgque.send("orders", "no order");
  expect((await failure(fresh.sent(orders))).code).toBe("PAYLOAD_INVALID");
  const unreachable = new Pool({ host: "127.0.0.1", port: 1 });
  await expect(testPgque(unreachable)).rejects.toThrow("ECONNREFUSED");
  await unreachable.end();
});

async function schemas(): Promise<string[]> {
  const { rows } = await pool.query(
    "select nspname from pg_namespace where nspname like 'pgque\\_test\\_%' order by 1",
  );
  return rows.map((row) => String(row["nspname"]));
}
