import { Pgque, defineQueue } from "@pgque/client";
import { deadLetter } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool({ max: 20 }));
afterAll(() => database.drop());

async function orderedQueue(onFailure: "block" | "skip") {
  const queue = defineQueue((await freshQueue(pgque)).name + onFailure, { partitions: 4, maxRetries: 3 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default", { mode: "ordered", onFailure });
  return queue;
}

const keys = ["a", "b", "c", "d", "e", "f"];

/** `n` messages of each key, the keys in turn. */
function traffic(n: number): { payloads: { key: string; n: number }[]; keys: string[] } {
  const payloads = Array.from({ length: n * keys.length }, (_, i) => ({
    key: keys[i % keys.length] ?? "",
    n: Math.floor(i / keys.length),
  }));
  return { payloads, keys: payloads.map(({ key }) => key) };
}

test("messages of one key are handled one after the other, in order, by several workers; those of others meanwhile", async () => {
  const queue = await orderedQueue("block");
  const handled: Record<string, number[]> = {};
  const busy = new Set<string>();
  let most = 0;
  for (let i = 0; i < 3; i += 1) {
    await startWorker(
      pgque,
      queue,
      async ({ payload }) => {
        const { key, n } = payload as { key: string; n: number };
        expect(busy.has(key), `${key} is handled already`).toBe(false);
        busy.add(key);
        most = Math.max(most, busy.size);
        await until(() => most > 1, "messages of two keys are handled side by side");
        await new Promise((resolve) => setImmediate(resolve));
        (handled[key] ??= []).push(n);
        busy.delete(key);
      },
      { mode: "ordered", concurrency: 2, batchSize: 5 },
    );
  }
  const { payloads, keys: of } = traffic(50);
  await pgque.sendMany(queue, payloads, { keys: of });
  await until(() => Object.values(handled).flat().length >= payloads.length, "all are handled");
  for (const key of keys) expect(handled[key]).toEqual(Array.from({ length: 50 }, (_, n) => n));
});

test.each([
  ["by the worker that had it", 1],
  // who sleeps for both need not be the one that finishes
  ["by one of two workers", 2],
])(
  "what stands behind a batch is received %s when it is finished, though a receive before found nothing",
  async (_, n) => {
    const queue = await orderedQueue("block");
    await pgque.sendMany(queue, [1, 2], { key: "k" });
    const { open, passed } = gate();
    const handled: unknown[] = [];
    for (let i = 0; i < n; i += 1)
      await startWorker(
        pgque,
        queue,
        async ({ payload }) => {
          if (payload === 1) await passed;
          handled.push(payload);
        },
        { mode: "ordered", batchSize: 1, fallbackPollMs: 600_000, maintainIntervalMs: 3_600_000 },
      );
    const admin = await database.connect();
    const { rows } = await admin.query("select id from pgque.queue where name = $1", [queue.name]);
    const openBatches = `select from pgque.open_batches(${rows[0].id})`;
    await until(async () => (await admin.query(openBatches)).rowCount === 1, "the first is received");
    await admin.query("begin");
    await admin.query(`select from pgque.batch_${rows[0].id} where messages > 0 for update`);
    // its ack waits for this transaction
    open();
    await until(() => handled.length === 1, "the first is handled");
    const flag = `select from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted
    and (classid::bigint << 32 | objid::bigint) = pgque.lock_key('idle', ${rows[0].id})`;
    await until(async () => (await admin.query(flag)).rowCount === 1, "a receive has found nothing");
    await admin.query("commit");
    await until(() => handled.length === 2, "the second is handled");
    expect(handled).toEqual([1, 2]);
  },
);

test("what is behind a failed message waits for it, with block", async () => {
  const queue = await orderedQueue("block");
  const handled: string[] = [];
  await startWorker(
    pgque,
    queue,
    ({ payload, attempt }) => {
      handled.push(`${String(payload)} ${attempt}`);
      if (payload === 2 && attempt < 3) throw new Error("not yet");
    },
    { mode: "ordered" },
  );
  await pgque.sendMany(queue, [1, 2, 3], { key: "k" });
  await until(() => handled.length === 5, "all are handled");
  expect(handled).toEqual(["1 1", "2 1", "2 2", "2 3", "3 1"]);
});

test.each([
  ["comes to something late", true],
  ["never returns", false],
])(
  "what is behind a message whose time is over waits for it, and not for its handler, which %s",
  async (_, returns) => {
    const queue = await orderedQueue("block");
    const { open, passed } = gate();
    const handled: string[] = [];
    await startWorker(
      pgque,
      queue,
      async ({ payload, attempt }) => {
        handled.push(`${String(payload)} ${attempt}`);
        if (payload === 1 && attempt === 1) await passed;
      },
      {
        mode: "ordered",
        timeoutMs: 50,
        concurrency: 2,
        log: { ...silent, warn: (message) => void (returns && message === "message failed" && open()) },
      },
    );
    await pgque.sendMany(queue, [1, 2, 3], { key: "k" });
    await until(() => handled.length === 4, "all are handled");
    expect(handled).toEqual(["1 1", "1 2", "2 1", "3 1"]);
    open();
  },
);

test("a worker that gives up a handler gives back what is behind it without using an attempt", async () => {
  const queue = await orderedQueue("block");
  const { open, passed } = gate();
  let begun = 0;
  const stuck = makeWorker(
    pgque,
    queue,
    async () => {
      begun += 1;
      await passed;
    },
    { mode: "ordered", shutdownTimeoutMs: 0 },
  );
  await stuck.start();
  await pgque.sendMany(queue, [1, 2], { key: "k" });
  await until(() => begun === 1, "the first is being handled");
  await stuck.stop();
  open();
  const handled: string[] = [];
  await startWorker(pgque, queue, ({ payload, attempt }) => void handled.push(`${String(payload)} ${attempt}`), {
    mode: "ordered",
  });
  await until(() => handled.length === 2, "both are handled");
  expect(handled).toEqual(["1 1", "2 1"]);
});

test("what is behind a failed message goes on, with skip", async () => {
  const queue = await orderedQueue("skip");
  const handled: string[] = [];
  await startWorker(
    pgque,
    queue,
    ({ payload, attempt }) => {
      handled.push(`${String(payload)} ${attempt}`);
      if (payload === 2 && attempt === 1) throw new Error("not yet");
    },
    { mode: "ordered", onFailure: "skip" },
  );
  await pgque.sendMany(queue, [1, 2, 3], { key: "k" });
  await until(() => handled.length === 4, "all are handled");
  expect(handled).toEqual(["1 1", "2 1", "3 1", "2 2"]);
});

test("a dead letter holds up nothing", async () => {
  const queue = await orderedQueue("block");
  const handled: unknown[] = [];
  await startWorker(
    pgque,
    queue,
    ({ payload }) => {
      handled.push(payload);
      return payload === 1 ? deadLetter("bad") : undefined;
    },
    { mode: "ordered" },
  );
  await pgque.sendMany(queue, [1, 2], { key: "k" });
  await until(async () => handled.length === 2 && (await unfinished(pgque, queue)).dead === 1, "both are settled");
  expect((await pgque.deadLetters.list(queue)).map(({ payload }) => payload)).toEqual([1]);
});

test("a worker that stops gives back what it has not begun, in its place", async () => {
  const queue = await orderedQueue("block");
  const handled: unknown[] = [];
  const payloads = Array.from({ length: 200 }, (_, i) => i);
  await pgque.sendMany(queue, payloads, { key: "k" });
  for (let round = 0; handled.length < payloads.length; round += 1) {
    const seen = handled.length;
    const worker = await startWorker(
      pgque,
      queue,
      async ({ payload, attempt }) => {
        await new Promise((resolve) => setImmediate(resolve));
        expect(attempt).toBe(1);
        handled.push(payload);
      },
      { mode: "ordered", batchSize: 50 },
    );
    await until(() => handled.length > seen + 10 || handled.length === payloads.length, "some are handled");
    await worker.stop();
  }
  expect(handled).toEqual(payloads);
});
