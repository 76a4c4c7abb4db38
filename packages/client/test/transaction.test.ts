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

test("a strict ack fails when the batch is finished or unknown, so that the work rolls back", async () => {
  await pgque.send(events, "acked strictly");
  const batch = await pgque.receive(events);
  const ids = batch.messages.map((message) => message.id);
  await pgque.inTransaction(tx).ackStrict(batch.id ?? "0", ids);
  await tx.query("commit");
  const error = await failure(pgque.ackStrict(batch.id ?? "0"));
  expect(error.code).toBe("LEASE_LOST");
  expect(error.hint).toContain("Roll back");
  expect((await failure(pgque.ackStrict("1", "x" as never))).code).toBe("INVALID_OPTION");
});

test("what a transaction sends it does not receive itself: that comes after the commit", async () => {
  await pgque.inTransaction(tx).send(events, "own");
  expect((await pgque.inTransaction(tx).receive(events)).messages).toEqual([]);
  await tx.query("commit");
  expect(await drain()).toEqual(["own"]);
});

test("a transaction works while it holds the only connection of the pool", async () => {
  await using db = { pool: database.pool({ max: 1 }), [Symbol.asyncDispose]: () => db.pool.end() };
  const own = new Pgque(db.pool);
  const client = await db.pool.connect();
  try {
    await client.query("begin");
    await own.inTransaction(client).send(events, "only connection");
    await client.query("commit");
  } finally {
    client.release();
  }
  expect(await drain()).toEqual(["only connection"]);
});

test("a receive in a transaction of its own does not wait for the disk; one in the caller's leaves its setting alone", async () => {
  await pgque.inTransaction(tx).receive(events);
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

test("on gives every operation on one connection", async () => {
  await tx.query("rollback");
  const mine = pgque.on(tx);
  await mine.send(events, "mine");
  const batch = await mine.receive(events);
  expect(batch.messages.map((m) => m.payload)).toEqual(["mine"]);
  expect(await batch.ack()).toBe(true);
  expect(await mine.maintain(events)).toBeTypeOf("number");
});
