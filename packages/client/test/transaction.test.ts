import { beforeEach, expect, test } from "vitest";
import { defineQueue, Pgque } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const events = defineQueue("events");
await pgque.ensure(events);
await pgque.subscribe(events);
const tx = await database.connect();

/** Everything there is to receive, acked. */
async function drain(): Promise<unknown[]> {
  const batch = await pgque.receive(events);
  await batch.ack();
  return batch.messages.map((m) => m.payload);
}

beforeEach(async () => {
  await tx.query("begin");
  return async () => {
    await tx.query("rollback");
    await drain();
  };
});

test("what is sent in a transaction is there once it commits", async () => {
  await pgque.using(tx).send(events, "one");
  await pgque.using(tx).sendMany(events, ["two", "three"]);
  expect(await drain()).toEqual([]);
  await tx.query("commit");
  expect(await drain()).toEqual(["one", "two", "three"]);
});

test("what is sent in a transaction that rolls back never is", async () => {
  await pgque.using(tx).send(events, "never");
  await tx.query("rollback");
  await pgque.send(events, "after");
  expect(await drain()).toEqual(["after"]);
});

test("what is sent after a savepoint goes with it", async () => {
  await pgque.using(tx).send(events, "kept");
  await tx.query("savepoint s");
  await pgque.using(tx).send(events, "gone");
  await tx.query("rollback to s");
  await pgque.using(tx).send(events, "kept too");
  await tx.query("commit");
  expect(await drain()).toEqual(["kept", "kept too"]);
});

test("an ack takes effect with its transaction", async () => {
  await pgque.send(events, "acked in a transaction");
  const batch = await pgque.receive(events, { leaseMs: 60_000 });
  expect(await pgque.using(tx).ack(batch.id ?? 0n)).toBe(true);
  await tx.query("rollback");
  expect(await batch.ack()).toBe(true);
  expect(await batch.ack()).toBe(false);
});

test("a strict ack fails when the batch is finished or unknown, so that the work rolls back", async () => {
  await pgque.send(events, "acked strictly");
  const batch = await pgque.receive(events);
  const ids = batch.messages.map((message) => message.id);
  await pgque.using(tx).ackStrict(batch.id ?? 0n, ids);
  await tx.query("commit");
  const error = await failure(pgque.ackStrict(batch.id ?? 0n));
  expect(error.code).toBe("LEASE_LOST");
  expect(error.hint).toContain("Roll back");
  expect((await failure(pgque.ackStrict(1n, "x" as never))).code).toBe("INVALID_OPTION");
});

test("a receive that rolls back has not happened", async () => {
  await pgque.send(events, "again");
  const batch = await pgque.using(tx).receive(events);
  expect(batch.messages.map((m) => m.payload)).toEqual(["again"]);
  await tx.query("rollback");
  expect(await drain()).toEqual(["again"]);
});

test("what a transaction sends it does not receive itself: that comes after the commit", async () => {
  await pgque.using(tx).send(events, "own");
  expect((await pgque.using(tx).receive(events)).messages).toEqual([]);
  await tx.query("commit");
  expect(await drain()).toEqual(["own"]);
});

test("a batch received in a transaction is acked in it", async () => {
  await pgque.send(events, "all in one");
  const batch = await pgque.using(tx).receive(events);
  expect(await batch.ack()).toBe(true);
  await tx.query("commit");
  expect(await drain()).toEqual([]);
});

test("a refused payload leaves the transaction usable", async () => {
  expect((await failure(pgque.using(tx).send(events, 1n))).code).toBe("PAYLOAD_NOT_JSON");
  await pgque.using(tx).send(events, "still here");
  await tx.query("commit");
  expect(await drain()).toEqual(["still here"]);
});

test("a serializable transaction may send, not receive", async () => {
  await tx.query("set transaction isolation level serializable");
  await pgque.using(tx).send(events, "serializable");
  expect((await failure(pgque.using(tx).receive(events))).code).toBe("ISOLATION_LEVEL");
});

test("an error of Postgres that is not about the queue comes as it is", async () => {
  await expect(tx.query("select 1/0")).rejects.toMatchObject({ code: "22012" });
  await expect(pgque.using(tx).send(events, 1)).rejects.toMatchObject({ name: "error", code: "25P02" });
});

test("a transaction works while it holds the only connection of the pool", async () => {
  await using db = { pool: database.pool({ max: 1 }), [Symbol.asyncDispose]: () => db.pool.end() };
  const own = new Pgque(db.pool);
  const client = await db.pool.connect();
  try {
    await client.query("begin");
    await own.using(client).send(events, "only connection");
    await client.query("commit");
  } finally {
    client.release();
  }
  expect(await drain()).toEqual(["only connection"]);
});

test("a receive in a transaction of its own does not wait for the disk; one in the caller's leaves its setting alone", async () => {
  await pgque.using(tx).receive(events);
  const { rows } = await tx.query("show synchronous_commit");
  expect(rows).toEqual([{ synchronous_commit: "on" }]);
  await tx.query("commit");

  const other = await database.connect();
  let unflushed = 0;
  for (let i = 0; i < 50; i++) {
    await pgque.send(events, i);
    const batch = await pgque.receive(events);
    const ahead = await other.query("select pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn() as ahead");
    unflushed += Number(ahead.rows[0].ahead);
    await batch.ack();
  }
  // now and then the server has written it by then, for a reason of its own
  expect(unflushed).toBeGreaterThan(10);
});

test("using refuses a pool, whose statements would run outside of any transaction", async () => {
  const error = await failure(() => pgque.using(pgque.pool));
  expect(error.code).toBe("INVALID_OPTION");
  expect(error.message).toContain("got a pool");
});

test("on gives every operation on one connection", async () => {
  await tx.query("rollback");
  const mine = pgque.on(tx);
  await mine.send(events, "mine");
  const batch = await mine.receive(events);
  expect(batch.messages.map((m) => m.payload)).toEqual(["mine"]);
  expect(await batch.ack()).toBe(true);
  expect(await mine.maintain(events)).toBeTypeOf("number");
});
