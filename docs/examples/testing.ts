import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { defineQueue, type Pgque } from "@pgque/client";
import { testPgque } from "@pgque/client/testing";
import { z } from "zod";

const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });

/** The code under test: sends in a transaction of its own. */
async function checkout(pgque: Pgque, orderId: number, pay: () => void): Promise<void> {
  const tx = await pgque.pool.connect();
  try {
    await tx.query("begin");
    await pgque.inTransaction(tx).send(orders, { orderId });
    pay();
    await tx.query("commit");
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
}

const queues = await testPgque(process.env["DATABASE_URL"]); // a fresh schema for this file …
await queues.pgque.ensure(orders);
beforeEach(() => queues.clear()); // … emptied for each test
after(() => queues.drop());

test("a checkout sends the order", async () => {
  await checkout(queues.pgque, 42, () => undefined);
  const [message, ...more] = await queues.sent(orders);
  assert.equal(message?.payload.orderId, 42); // a number, by type
  assert.equal(message.dueAt, null); // not delayed
  assert.equal(more.length, 0);
});

test("a checkout that is not paid for sends nothing", async () => {
  const decline = () => {
    throw new Error("card declined");
  };
  await assert.rejects(checkout(queues.pgque, 43, decline), /card declined/);
  assert.deepEqual(await queues.sent(orders), []);
});

test("a transaction that is open shows what it has sent to those who look from inside", async () => {
  const tx = await queues.pgque.pool.connect();
  await tx.query("begin");
  await queues.pgque.inTransaction(tx).send(orders, { orderId: 44 }, { delayMs: 60_000 });
  assert.equal((await queues.sent(orders, { transaction: tx })).length, 1);
  assert.equal((await queues.sent(orders)).length, 0);
  await tx.query("rollback");
  tx.release();
});
