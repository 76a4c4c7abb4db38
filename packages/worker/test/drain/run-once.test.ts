import { setTimeout as sleep } from "node:timers/promises";
import { Pgque, defineQueue } from "@pgque/client";
import { deadLetter, DrainError, retry, snooze, UnrecoverableError, Worker } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, silent, unfinished } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const nothing = { done: 0, retried: 0, snoozed: 0, dead: 0, cancelled: 0, released: 0, failures: [] };

test("handles what is there, and says what became of it", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, ["done", "throws", "asks for a retry", "snoozed", "buried", "hopeless"]);
  const worker = makeWorker(pgque, queue, ({ payload }) => {
    if (payload === "throws") throw new Error("no");
    if (payload === "hopeless") throw new UnrecoverableError("never");
    if (payload === "asks for a retry") return retry({ afterMs: 60_000 });
    if (payload === "snoozed") return snooze({ afterMs: 60_000 });
    return payload === "buried" ? deadLetter("because") : undefined;
  });
  const { failures, ...counts } = await worker.runOnce();
  expect(counts).toEqual({ done: 1, retried: 2, snoozed: 1, dead: 2, cancelled: 0, released: 0 });
  expect(new Map(failures.map(({ message, error }) => [message.payload, error]))).toEqual(
    new Map([
      ["throws", new Error("no")],
      ["hopeless", new UnrecoverableError("never")],
    ]),
  );
  expect(await unfinished(pgque, queue)).toEqual({ open: 0, dead: 2 });
});

test("handles neither what its handlers send nor what they give back at once", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, ["first", "again"]);
  const handled: unknown[] = [];
  const worker = makeWorker(pgque, queue, async ({ payload }, { send }) => {
    handled.push(payload);
    if (payload === "first") await send(queue, "second");
    return payload === "again" ? retry({ afterMs: 0 }) : undefined;
  });
  expect(await worker.runOnce()).toMatchObject({ done: 1, retried: 1 });
  expect(new Set(handled)).toEqual(new Set(["first", "again"]));
  expect(await worker.runOnce()).toMatchObject({ done: 1, retried: 1 });
  expect(handled).toHaveLength(4);
});

test("keeps what it has received while it receives the rest, however long that takes", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  await using slow = new Pgque({ connectionString: database.url });
  const receive = slow.receive.bind(slow);
  slow.receive = async (...args: Parameters<typeof receive>) => {
    await sleep(600);
    return receive(...args);
  };
  const attempts: number[] = [];
  const worker = makeWorker(slow, queue, ({ attempt }) => void attempts.push(attempt), {
    batchSize: 1,
    leaseMs: 1000,
    heartbeatIntervalMs: 300,
  });
  const running = { once: true };
  const once = worker.runOnce({ max: 3 }).finally(() => (running.once = false));
  while (running.once) await pgque.maintain(queue);
  expect(await once).toMatchObject({ done: 3 });
  expect(attempts).toEqual([1, 1, 1]);
});

test("handles as many as it was asked for, or as `prefetch` says", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3, 4, 5, 6]);
  const worker = makeWorker(pgque, queue, () => undefined, { concurrency: 1, prefetch: 3, batchSize: 2 });
  expect((await worker.runOnce({ max: 2 })).done).toBe(2);
  expect((await worker.runOnce()).done).toBe(3);
  expect((await worker.runOnce({ max: 100 })).done).toBe(1);
  expect(await worker.runOnce()).toEqual(nothing);
});

test("finds what is due although nobody maintains the queue", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1, { delayMs: 1 });
  const worker = makeWorker(pgque, queue, () => undefined);
  let done = 0;
  await until(async () => (done += (await worker.runOnce()).done) > 0, "it is due");
  expect(done).toBe(1);
});

test("creates queue and consumer when they are not there", async () => {
  const queue = defineQueue("not there yet");
  const worker = makeWorker(pgque, queue, () => undefined, { consumer: "c" });
  expect(await worker.runOnce()).toEqual(nothing);
  expect(await pgque.consumers.list(queue)).toMatchObject([{ name: "c" }]);
  await pgque.send(queue, 1);
  expect((await worker.runOnce()).done).toBe(1);
});

test("a payload that does not fit is a failure, a type without a handler is what the policy says", async () => {
  const queue = defineQueue("typed", { types: { paid: z.number(), refunded: z.number() } });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  const worker = new Worker(pgque, queue, { paid: () => undefined }, { unknownType: "deadLetter", log: silent });
  await pgque.send("typed", "not a number", { type: "paid" });
  await pgque.send(queue, 2, { type: "refunded" });
  await pgque.send(queue, 3, { type: "paid" });
  const { failures, ...counts } = await worker.runOnce();
  expect(counts).toMatchObject({ done: 1, retried: 1, dead: 1 });
  expect(failures).toMatchObject([{ message: { type: "paid" }, error: { code: "PAYLOAD_INVALID" } }]);
});

test("a batch is handled together, each message with its outcome", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  const sizes: number[] = [];
  const worker = new Worker(
    pgque,
    queue,
    (messages) => {
      sizes.push(messages.length);
      return messages.map(({ payload }) => (payload === 2 ? snooze({ afterMs: 60_000 }) : undefined));
    },
    { batch: true, log: silent },
  );
  expect(await worker.runOnce()).toMatchObject({ done: 2, snoozed: 1 });
  expect(sizes).toEqual([3]);
});

test("a transactional handler's writes are there if it succeeds, and not if it fails", async () => {
  const queue = await freshQueue(pgque);
  await pgque.pool.query("create table public.done (payload int)");
  await pgque.sendMany(queue, [1, 2]);
  const worker = makeWorker(
    pgque,
    queue,
    async ({ payload }, { tx }) => {
      await tx.query("insert into public.done values ($1)", [payload]);
      if (payload === 2) throw new Error("no");
    },
    { transactional: true },
  );
  expect(await worker.runOnce()).toMatchObject({ done: 1, retried: 1 });
  expect((await pgque.pool.query("select payload from public.done")).rows).toEqual([{ payload: 1 }]);
});

test("a failing handler ends it, with its own error as the cause, when that is wanted", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3, 4]);
  const thrown = new Error("the card is declined");
  const worker = makeWorker(
    pgque,
    queue,
    ({ payload }) => {
      if (payload === 2) throw thrown;
    },
    // what failed is not due again while the others are handled
    { concurrency: 1, retryMinMs: 3_600_000, retryMaxMs: 3_600_000, retryJitter: false },
  );
  const error = await worker.runOnce({ max: 4, throwOnFailure: true }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DrainError);
  expect(error).toMatchObject({
    code: "HANDLER_FAILED",
    message: expect.stringContaining("attempt 1: the card is declined"),
    summary: { done: 1, retried: 1, released: 2 },
    cause: thrown,
  });
  expect((await unfinished(pgque, queue)).open).toBe(0);
  expect((await worker.runOnce({ throwOnFailure: true })).done, "the others were given back").toBe(2);
});

test("a time limit is a failure, whether the handler heeds its signal or not", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, ["heeds", "does not"]);
  const { open, passed } = gate();
  const worker = makeWorker(
    pgque,
    queue,
    async ({ payload }, { signal }) => {
      if (payload === "does not") return passed;
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    { timeoutMs: 1, log: { ...silent, warn: (line) => void (line === "message failed" && (failed += 1)) } },
  );
  let failed = 0;
  const running = worker.runOnce();
  await until(() => failed === 2, "both have failed");
  open();
  const { retried, failures } = await running;
  expect([retried, failures.map(({ error }) => (error as Error).name)]).toEqual([2, ["TimeoutError", "TimeoutError"]]);
});

test("wrong options are refused, all at once", async () => {
  const worker = makeWorker(pgque, "any" as never, () => undefined);
  await expect(worker.runOnce({ max: 0, throwOnFailure: 1, when: 2 } as never)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    details: {
      problems: [
        "expected `max` to be an integer from 1 to 100000, got: 0",
        "expected `throwOnFailure` to be true or false, got: 1",
        "unknown option `when`, known: throwOnFailure, signal, max",
      ],
    },
  });
  await expect(worker.drain({ delayed: "all", maxMessages: 0 } as never)).rejects.toThrow(
    /expected `delayed` to be true, false or a valid Date, got: 'all'; expected `maxMessages` to be an integer/,
  );
});
