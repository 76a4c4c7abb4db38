import { Pgque } from "@pgque/client";
import type { WorkerOptions } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool({ max: 10 }));
afterAll(() => database.drop());

/** As a handler does that computes: the event loop waits. */
function compute(ms: number): void {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt);
}

/** Counts the turns of the event loop until it is ended. */
function countTurns(): { readonly turns: number; end(): void } {
  let [turns, ended] = [0, false];
  const turn = (): void => {
    turns += 1;
    if (!ended) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    get turns() {
      return turns;
    },
    end: () => void (ended = true),
  };
}

test.each<[string, () => unknown, WorkerOptions]>([
  ["that return no promise", () => compute(1), { concurrency: 2 }],
  ["that return promises which are settled at once", async () => compute(1), { concurrency: 2 }],
  ["one after the other", () => compute(1), { mode: "ordered", concurrency: 1 }],
])("handlers %s leave the event loop its turns", async (_name, work, options) => {
  const messages = 100;
  const queue = await freshQueue(pgque, options.mode === "ordered" ? { partitions: 1 } : {});
  await pgque.subscribe(queue, "all", { from: "earliest", mode: options.mode });
  await pgque.sendMany(
    queue,
    Array.from({ length: messages }, (_, i) => i),
    options.mode === "ordered" ? { key: "one" } : {},
  );
  const handledIn: number[] = [];
  const loop = countTurns();
  const handler = (): void | Promise<void> => {
    handledIn.push(loop.turns);
    return work() as void | Promise<void>;
  };
  await startWorker(pgque, queue, handler, { consumer: "all", prefetch: messages, batchSize: messages, ...options });
  await until(() => handledIn.length === messages, "all are handled");
  loop.end();
  // a turn ends within two milliseconds and the handler that is under way then
  expect(new Set(handledIn).size).toBeGreaterThanOrEqual(messages / 4);
});

test("the next batch is received while the one before it is handled, also by handlers that return no promise", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 2000 }, (_, i) => i),
  );
  let handled = 0;
  const handledAt: number[] = [];
  const handler = (): void => {
    handled += 1;
    if (handledAt.length < 2) compute(5);
  };
  const worker = makeWorker(pgque, queue, handler, { concurrency: 1, prefetch: 2000, batchSize: 1000 });
  worker.on("received", ({ count }) => void (count > 0 && handledAt.push(handled)));
  await worker.start();
  await until(() => handled === 2000, "all are handled");
  expect(handledAt).toEqual([0, expect.any(Number)]);
  expect(handledAt[1]).toBeLessThan(1000);
});

test("a handler that returns no promise runs beside those that do, and what each comes to is settled", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const slow = gate();
  const order: unknown[] = [];
  await pgque.sendMany(queue, ["slow", "quick", "fails", "quick too"]);
  const handler = ({ payload }: { payload: unknown }): void | Promise<void> => {
    order.push(payload);
    if (payload === "fails") throw new Error("at once");
    return payload === "slow" ? slow.passed : undefined;
  };
  const worker = await startWorker(pgque, queue, handler, { concurrency: 2 });
  await until(() => order.length === 4, "all are begun");
  expect(order).toEqual(["slow", "quick", "fails", "quick too"]);
  expect(worker.health().running).toBe(1);
  slow.open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all is settled");
  expect(await unfinished(pgque, queue)).toEqual({ open: 0, dead: 1 });
});

test("a handler that has not returned yet counts as one that runs", async () => {
  const queue = await freshQueue(pgque);
  const seen: number[] = [];
  const worker = await startWorker(pgque, queue, () => void seen.push(worker.health().running), { concurrency: 3 });
  await pgque.sendMany(queue, ["a", "b"]);
  await until(() => seen.length === 2, "both are handled");
  expect(seen).toEqual([1, 1]);
  expect(worker.health().running).toBe(0);
});
