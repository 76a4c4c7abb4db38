import { Pgque } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, makeWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

test("a message has as many retries as its sender says, whatever its queue says", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  const seen: unknown[] = [];
  const worker = makeWorker(pgque, queue, ({ payload }, { attempt, maxRetries, isLastAttempt }) => {
    seen.push([payload, attempt, maxRetries, isLastAttempt]);
    throw new Error("no");
  });
  const dead: unknown[] = [];
  worker.on("deadLettered", ({ message }) => dead.push(message.payload));
  await pgque.send(queue, "none", { maxRetries: 0 });
  await pgque.sendMany(queue, ["two"], { maxRetries: 2, headers: { tenant: "a" } });
  await pgque.send(queue, "the queue's");
  await worker.start();
  await until(async () => (await unfinished(pgque, queue)).dead === 3, "all are dead letters");
  expect([seen.length, dead.length]).toEqual([6, 3]);
  expect(new Set(seen)).toEqual(
    new Set([
      ["none", 1, 0, true],
      ["the queue's", 1, 1, false],
      ["the queue's", 2, 1, true],
      ["two", 1, 2, false],
      ["two", 2, 2, false],
      ["two", 3, 2, true],
    ]),
  );
  expect(new Set(dead)).toEqual(new Set(["none", "the queue's", "two"]));
});

test("so has one in the lane of an ordered consumer", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0, partitions: 1 });
  await pgque.subscribe(queue, "ordered", { mode: "ordered" });
  const seen: unknown[] = [];
  const worker = makeWorker(
    pgque,
    queue,
    ({ payload }, { attempt }) => {
      seen.push([payload, attempt]);
      if (payload === "fails") throw new Error("no");
    },
    { consumer: "ordered", mode: "ordered" },
  );
  await worker.start();
  await pgque.send(queue, "fails", { maxRetries: 1, key: "k" });
  await pgque.send(queue, "behind", { key: "k" });
  await until(() => seen.length === 3, "the one behind it is handled");
  expect(seen).toEqual([
    ["fails", 1],
    ["fails", 2],
    ["behind", 1],
  ]);
});

test("a message has its own time limit and its own first wait", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  const aborted: unknown[] = [];
  const waits: number[] = [];
  const worker = makeWorker(
    pgque,
    queue,
    async (_message, { signal }) => {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
    { retryJitter: false, retryMinMs: 1, retryMaxMs: 86_400_000 },
  );
  worker.on("failed", ({ error, outcome }) => {
    aborted.push((error as Error).name);
    if (outcome.kind === "retry") waits.push(outcome.afterMs);
  });
  await worker.start();
  await pgque.send(queue, "slow", { timeoutMs: 20, retryMinMs: 70_000 });
  await until(() => waits.length === 1, "it is tried again later");
  expect({ aborted, waits }).toEqual({ aborted: ["TimeoutError"], waits: [70_000] });
});

test("headers that cannot be such options are only headers, and keep no batch from being settled", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const hostile = [-1, 1.5, "3", null, 99_999, 1e300, { a: 1 }, []];
  for (const value of hostile)
    await pgque.send(queue, value, { headers: { "pgque-max-retries": value, "pgque-timeout-ms": value } });
  let calls = 0;
  const worker = makeWorker(pgque, queue, () => {
    calls += 1;
    throw new Error("no");
  });
  await worker.start();
  await until(async () => (await unfinished(pgque, queue)).dead === hostile.length, "all are dead letters");
  expect(calls).toBe(hostile.length);
});

test("what is no such option is refused before it is sent", async () => {
  const queue = await freshQueue(pgque);
  await expect(pgque.send(queue, 1, { maxRetries: -1, timeoutMs: 0, retryMinMs: 0.5 })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    details: {
      problems: [
        expect.stringContaining("maxRetries"),
        expect.stringContaining("timeoutMs"),
        expect.stringContaining("retryMinMs"),
      ],
    },
  });
});
