import { Pgque, type Queue } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const mebibyte = 2 ** 20;
/** A payload that is a mebibyte of JSON. */
const large = "x".repeat(mebibyte - 2);

/** How many messages each receive brought, in their order. */
async function batches(queue: Queue): Promise<number[]> {
  const { rows } = await pgque.pool.query("select id from pgque.queue where name = $1", [queue.name]);
  const { rows: made } = await pgque.pool.query(
    `select messages from pgque.batch_${rows[0].id} where id is not null order by batch_no`,
  );
  return made.map(({ messages }) => messages);
}

const held = async (queue: Queue): Promise<number> => (await batches(queue)).reduce((sum, of) => sum + of, 0);

test("large messages are held up to `prefetchBytes` and one more, whatever `concurrency` would take, and all are handled", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 24 }, () => large),
  );
  const { open, passed } = gate();
  let [running, most, handled] = [0, 0, 0];
  const handler = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await passed;
    await pgque.pool.query("select");
    running -= 1;
    handled += 1;
  };
  // neither maintenance nor a poll explains what comes
  const options = { concurrency: 1000, maintainIntervalMs: 3_600_000, fallbackPollMs: 600_000 };
  await startWorker(pgque, queue, handler, { ...options, prefetchBytes: 4 * mebibyte + 1 });
  await until(() => running === 5, "as many run as there is room for");
  expect(await batches(queue)).toEqual([5]);
  open();
  await until(() => handled === 24, "all are handled");
  expect(most).toBe(5);
});

test("one message is held whatever its size", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [large, large, large]);
  let [running, most, handled] = [0, 0, 0];
  const handler = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await pgque.pool.query("select");
    running -= 1;
    handled += 1;
  };
  await startWorker(pgque, queue, handler, { prefetchBytes: 1, fallbackPollMs: 600_000 });
  await until(() => handled === 3, "all are handled");
  expect(most).toBe(1);
  expect(await batches(queue)).toEqual([1, 1, 1]);
});

test("small messages come in as many receives as there would be without", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 5000 }, () => "x".repeat(98)),
  );
  const { open, passed } = gate();
  let running = 0;
  const handler = async (): Promise<void> => {
    running += 1;
    await passed;
  };
  await startWorker(pgque, queue, handler, { concurrency: 2000 });
  await until(() => running === 2000, "the handlers run");
  expect(await batches(queue)).toEqual([4000]);
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0 && running === 5000, "all are handled");
});

test("handlers of batches and of ordered messages hold no more", async () => {
  const queue = await freshQueue(pgque, { partitions: 4 });
  const together = await freshQueue(pgque);
  const payloads = Array.from({ length: 8 }, () => large);
  await pgque.subscribe(queue, "ordered", { mode: "ordered", from: "earliest" });
  for (const key of ["a", "b", "c", "d"]) await pgque.sendMany(queue, payloads, { key });
  await pgque.sendMany(together, payloads);
  const { open, passed } = gate();
  let handled = 0;
  const handler = async (): Promise<void> => {
    await passed;
    handled += 1;
  };
  const options = { prefetchBytes: 2 * mebibyte + 1, concurrency: 10, fallbackPollMs: 600_000 };
  await startWorker(pgque, queue, handler, { ...options, mode: "ordered", consumer: "ordered" });
  await startWorker(
    pgque,
    together,
    async (messages) => {
      await passed;
      handled += messages.length;
    },
    { ...options, batch: true },
  );
  await until(async () => (await held(queue)) > 0 && (await held(together)) > 0, "both have received");
  // a receive that was under way then is over when the database answers the next statement
  await pgque.pool.query("select");
  expect([await held(queue), await held(together)]).toEqual([3, 3]);
  open();
  await until(() => handled === 40, "all are handled");
});

test("a slow message holds up neither the others nor their acks", async () => {
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  const handled = new Set<unknown>();
  const handler = async ({ payload }: { payload: unknown }): Promise<void> => {
    if (payload === 0) await passed;
    handled.add(payload);
  };
  await pgque.sendMany(
    queue,
    Array.from({ length: 200 }, (_, i) => i),
  );
  await startWorker(pgque, queue, handler, { concurrency: 4, fallbackPollMs: 600_000 });
  await until(() => handled.size === 199, "all but the slow one are handled");
  const unacked = async (): Promise<number> => {
    const { rows } = await pgque.pool.query(
      `select count(*)::int as n
         from pgque.queue q, pgque.open_batches(q.id) b, pgque.batch_messages(b.batch_id) m, pgque.batch_state(b.batch_id) s
        where q.name = $1 and not s.final and m.message_id <> all (s.settled)`,
      [queue.name],
    );
    return rows[0].n;
  };
  await until(async () => (await unacked()) === 1, "all others are acked, those of its own batch too");
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "the slow one is acked");
});
