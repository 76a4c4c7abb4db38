import { Pgque, type Queue } from "@pgque/client";
import { DrainError, type HandlerResult, retry, snooze, Worker, type WorkerOptions } from "@pgque/worker";
import { afterAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { freshQueue, makeWorker, silent, unfinished } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const hourMs = 3_600_000;

test("handles everything, what handlers send meanwhile included", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 50 }, () => 3),
  );
  const worker = makeWorker(pgque, queue, async ({ payload }, { send }) => {
    if (Number(payload) > 0) await send(queue, Number(payload) - 1);
  });
  expect(await worker.drain()).toEqual({
    done: 200,
    retried: 0,
    snoozed: 0,
    dead: 0,
    cancelled: 0,
    released: 0,
    failures: [],
  });
  expect((await pgque.consumers.list(queue))[0]?.depth).toBe(0);
});

test("handles what comes back at once, until its attempts are used up", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 2 });
  await pgque.send(queue, 1);
  const attempts: number[] = [];
  const worker = makeWorker(pgque, queue, ({ attempt }) => {
    attempts.push(attempt);
    return retry({ afterMs: 0 });
  });
  expect(await worker.drain()).toMatchObject({ retried: 2, dead: 1 });
  expect(attempts).toEqual([1, 2, 3]);
});

test("leaves what is delayed, and goes on from where it was", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "now");
  await pgque.send(queue, "later", { delayMs: hourMs });
  const worker = makeWorker(pgque, queue, () => undefined);
  expect((await worker.drain()).done).toBe(1);
  expect((await worker.drain()).done).toBe(0);
  expect((await pgque.queues.status(queue)).delayed).toBe(1);
});

test("handles the whole of a queue with priorities, the highest first", async () => {
  const queue = await freshQueue(pgque, { priorities: 10 });
  for (const priority of [0, 5, 9]) await pgque.send(queue, priority, { priority });
  const handled: unknown[] = [];
  const worker = makeWorker(pgque, queue, ({ payload }) => void handled.push(payload), { concurrency: 1 });
  expect((await worker.drain()).done).toBe(3);
  expect(handled).toEqual([9, 5, 0]);
});

test("gives up after `maxMessages`, and gives back what is more", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  const worker = makeWorker(pgque, queue, async ({ payload }, { send }) => {
    await send(queue, Number(payload) + 1);
  });
  const error = await worker.drain({ maxMessages: 7 }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DrainError);
  expect(error).toMatchObject({
    code: "MAX_MESSAGES",
    message: expect.stringContaining("within 7 messages, there are more"),
    summary: { done: 7, released: 1 },
  });
  expect((await pgque.messages.peek(queue, { consumer: "default" })).map(({ attempt }) => attempt)).toEqual([1]);
  await expect(worker.drain({ maxMessages: 1 }), "exactly as many are not too many").rejects.toThrow();
  const last = makeWorker(pgque, queue, () => undefined);
  expect((await last.drain({ maxMessages: 1 })).done).toBe(1);
});

test("a handler that fails ends it when that is wanted", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  const cause = new TypeError("x is undefined");
  const worker = makeWorker(pgque, queue, () => {
    throw cause;
  });
  await expect(worker.drain({ throwOnFailure: true })).rejects.toMatchObject({ code: "HANDLER_FAILED", cause });
});

test("a queue that is paused has nothing", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  await pgque.queues.pause(queue);
  const worker = makeWorker(pgque, queue, () => undefined);
  expect((await worker.drain()).done).toBe(0);
  expect((await worker.drain({ delayed: true })).done).toBe(0);
  await pgque.queues.resume(queue);
  expect((await worker.drain()).done).toBe(1);
});

describe("with what is delayed", () => {
  /** Which payloads were handled in what order, one at a time. */
  const orderOf = async (
    queue: Queue,
    handle: (payload: unknown, attempt: number) => HandlerResult | Promise<HandlerResult>,
    options: WorkerOptions = {},
  ) => {
    const handled: unknown[] = [];
    const worker = makeWorker(
      pgque,
      queue,
      ({ payload, attempt }) => {
        handled.push(`${String(payload)} ${attempt}`);
        return handle(payload, attempt);
      },
      { concurrency: 1, ...options },
    );
    return { handled, summary: await worker.drain({ delayed: true }) };
  };

  test("everything comes in the order of the times", async () => {
    const queue = await freshQueue(pgque);
    await pgque.send(queue, "in a week", { delayMs: 168 * hourMs });
    await pgque.send(queue, "in an hour", { delayMs: hourMs });
    await pgque.send(queue, "now");
    await pgque.send(queue, "in a minute", { delayMs: 60_000 });
    let isOpen = false;
    const { handled, summary } = await orderOf(queue, (payload, attempt) => {
      if (payload === "in a minute" && attempt === 1) return retry({ afterMs: 24 * hourMs });
      if (payload !== "now" || isOpen) return undefined;
      isOpen = true;
      return snooze({ afterMs: 2 * hourMs });
    });
    expect(handled).toEqual(["now 1", "in a minute 1", "in an hour 1", "now 1", "in a minute 2", "in a week 1"]);
    expect(summary).toMatchObject({ done: 4, retried: 1, snoozed: 1 });
  });

  test("a message that always fails uses all its attempts in one call", async () => {
    const queue = await freshQueue(pgque, { maxRetries: 3 });
    await pgque.send(queue, "x");
    const { handled, summary } = await orderOf(
      queue,
      () => {
        throw new Error("always");
      },
      { retryMinMs: hourMs, retryMaxMs: 24 * hourMs },
    );
    expect(handled).toEqual(["x 1", "x 2", "x 3", "x 4"]);
    expect(summary).toMatchObject({ retried: 3, dead: 1 });
    expect(summary.failures.map(({ message }) => message.attempt)).toEqual([1, 2, 3, 4]);
    expect((await unfinished(pgque, queue)).dead).toBe(1);
  });

  test("in an ordered consumer's lane what is behind a failed message waits for it, in one call", async () => {
    const queue = await freshQueue(pgque, { partitions: 16 });
    await pgque.subscribe(queue, "in order", { mode: "ordered" });
    for (const payload of ["a1", "a2"]) await pgque.send(queue, payload, { key: "a" });
    const { handled, summary } = await orderOf(
      queue,
      (payload, attempt) => {
        if (payload === "a1" && attempt < 3) throw new Error("not yet");
      },
      { mode: "ordered", consumer: "in order", retryMinMs: hourMs, retryMaxMs: hourMs },
    );
    expect(handled).toEqual(["a1 1", "a1 2", "a1 3", "a2 1"]);
    expect(summary).toMatchObject({ done: 2, retried: 2, released: 2 });
  });

  test("a batch that failed together comes again together", async () => {
    const queue = await freshQueue(pgque);
    await pgque.sendMany(queue, [1, 2, 3], { delayMs: hourMs });
    const attempts: number[][] = [];
    const worker = new Worker(
      pgque,
      queue,
      (messages) => {
        attempts.push(messages.map(({ attempt }) => attempt));
        if (attempts.length === 1) throw new Error("once");
      },
      { batch: true, log: silent, retryJitter: false, retryMinMs: hourMs },
    );
    expect(await worker.drain({ delayed: true })).toMatchObject({ done: 3, retried: 3 });
    expect(attempts[0]).toEqual([1, 1, 1]);
    expect(attempts.slice(1).flat()).toEqual([2, 2, 2]);
  });

  test("a time says how far it goes", async () => {
    const queue = await freshQueue(pgque);
    for (const hours of [1, 2, 3]) await pgque.send(queue, hours, { delayMs: hours * hourMs });
    const handled: unknown[] = [];
    const worker = makeWorker(pgque, queue, ({ payload }) => void handled.push(payload));
    const now = (await pgque.runtime.now()).getTime();
    await worker.drain({ delayed: new Date(now + 2 * hourMs) });
    expect(handled).toEqual([1, 2]);
  });

  test("other consumers' retries wait for their time", async () => {
    const queue = await freshQueue(pgque);
    await pgque.subscribe(queue, "other");
    await pgque.send(queue, 1);
    const fails = () => retry({ afterMs: hourMs });
    await makeWorker(pgque, queue, fails, { consumer: "other" }).drain();
    await makeWorker(pgque, queue, fails).drain();
    const worker = makeWorker(pgque, queue, () => undefined);
    expect((await worker.drain({ delayed: true })).done).toBe(1);
    expect((await pgque.queues.status(queue)).delayed).toBe(1);
  });

  test("one that is snoozed for ever is the error that says so", async () => {
    const queue = await freshQueue(pgque);
    await pgque.send(queue, 1);
    const worker = makeWorker(pgque, queue, () => snooze({ afterMs: hourMs }));
    await expect(worker.drain({ delayed: true, maxMessages: 20 })).rejects.toMatchObject({
      code: "MAX_MESSAGES",
      summary: { snoozed: 20, released: 1 },
    });
  });
});
