import { Pgque } from "@pgque/client";
import { afterAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, startWorker } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const admin = await database.connect();
afterAll(() => database.drop());

/** A worker that polls so seldom that only a notification explains what it handles. */
const seldom = { fallbackPollMs: 600_000, pollMinMs: 60_000, pollMaxMs: 600_000 };

/** Raised idle flags in this database. */
async function flags(): Promise<number> {
  const { rows } = await admin.query(
    `select count(*)::int as n from pg_locks
      where locktype = 'advisory' and mode = 'ShareLock'
        and database = (select oid from pg_database where datname = current_database())`,
  );
  return rows[0].n;
}

const asleep = (): Promise<void> => until(async () => (await flags()) === 1, "the worker sleeps");

describe("an idle worker", () => {
  test("is woken by what is sent, again and again", async () => {
    const queue = await freshQueue(pgque);
    const handled: unknown[] = [];
    const worker = await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), seldom);
    for (let i = 0; i < 50; i++) {
      await asleep();
      await pgque.send(queue, i);
      await until(() => handled.length === i + 1, `message ${i} is handled`);
    }
    await worker.stop();
    expect(await flags()).toBe(0);
  });

  test("is woken when a transaction that was open before it slept commits", async () => {
    const queue = await freshQueue(pgque);
    const handled: unknown[] = [];
    const client = await database.connect();
    await client.query("begin");
    await pgque.inTransaction(client).send(queue, "slow");
    await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), {
      ...seldom,
      pollMinMs: 20,
      pollMaxMs: 20,
    });
    await asleep();
    await client.query("commit");
    await until(() => handled.length === 1, "it is handled");
  });

  test("that loses its connection polls, and listens again", async () => {
    const queue = await freshQueue(pgque);
    const handled: unknown[] = [];
    await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), seldom);
    await asleep();
    await admin.query(
      "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and database = (select oid from pg_database where datname = current_database())",
    );
    await pgque.send(queue, "meanwhile");
    await until(() => handled.length === 1, "it is handled");
    await pgque.send(queue, "afterwards");
    await until(() => handled.length === 2, "it is handled");
  });

  test("loses no wake-up to senders that commit at any moment", { timeout: 60_000 }, async () => {
    const queue = await freshQueue(pgque);
    const handled = new Set<unknown>();
    await startWorker(pgque, queue, ({ payload }) => void handled.add(payload), {
      ...seldom,
      pollMinMs: 5,
      pollMaxMs: 20,
    });
    for (let i = 0; i < 200; i++) {
      // some of them commit while the worker is just going to sleep
      const client = await pgque.pool.connect();
      await client.query("begin");
      await pgque.inTransaction(client).send(queue, i);
      await new Promise((resolve) => setTimeout(resolve, i % 5));
      await client.query("commit");
      client.release();
      await until(() => handled.has(i), `message ${i} is handled`);
    }
  });

  test("does not sleep while a receive leaves something: each brings messages of one priority", async () => {
    const queue = await freshQueue(pgque, { priorities: 5 });
    for (let priority = 0; priority < 5; priority++) await pgque.send(queue, priority, { priority });
    const handled: unknown[] = [];
    const options = { ...seldom, maintainIntervalMs: 3_600_000 };
    await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), options);
    await until(() => handled.length === 5, "all are handled");
  });

  test("with `listen: false` polls and raises no flag", async () => {
    const queue = await freshQueue(pgque);
    const handled: unknown[] = [];
    await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), { listen: false, pollMaxMs: 50 });
    await pgque.send(queue, 1);
    await until(() => handled.length === 1, "it is handled");
    expect(await flags()).toBe(0);
  });
});
