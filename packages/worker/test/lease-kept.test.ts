import { Pgque, type Queue } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const admin = await database.connect();
const rival = new Pgque(database.pool());
afterAll(() => database.drop());

/** A lease that is not kept is over soon, and another worker has its messages. */
const brief = { leaseMs: 1000, heartbeatIntervalMs: 100, maintainIntervalMs: 100 };

/** Longer than leases last that nobody keeps. */
async function threeLeases(): Promise<void> {
  const { rows } = await admin.query("select clock_timestamp() + '3 s' as later");
  await until(
    async () => (await admin.query("select clock_timestamp() > $1 as is", [rows[0].later])).rows[0].is,
    "three leases have passed",
  );
}

for (const [name, run] of [
  ["that does not listen", "start"],
  ["that runs once", "runOnce"],
  ["that drains", "drain"],
] as const) {
  test(`handlers of a worker ${name} have the whole pool for longer than their lease, and keep it`, async () => {
    const pgque = new Pgque(database.pool({ max: 2 }));
    const queue = await freshQueue(pgque);
    const { open, passed } = gate();
    const attempts: number[] = [];
    const handler = async ({ attempt }: { attempt: number }): Promise<void> => {
      const own = await pgque.pool.connect();
      attempts.push(attempt);
      await passed;
      own.release();
    };
    await pgque.sendMany(queue, [1, 2]);
    const worker = makeWorker(pgque, queue, handler, { ...brief, listen: false, concurrency: 2, prefetch: 2 });
    const running = worker[run]();
    await until(() => attempts.length === 2, "the handlers have the pool");
    const others: number[] = [];
    await startWorker(rival, queue, ({ attempt }) => void others.push(attempt), brief);
    await threeLeases();
    open();
    await running;
    await until(async () => (await unfinished(rival, queue)).open === 0, "they are acked");
    expect([attempts, others]).toEqual([[1, 1], []]);
  });
}

/** A queue whose payloads are checked by this. */
function checkedBy(name: string, validate: (value: unknown) => Promise<{ value: unknown }>): Partial<Queue> {
  return { name, payload: { "~standard": { version: 1, vendor: "test", validate } } };
}

test("payloads are checked side by side while their lease is kept, however long that takes", async () => {
  const pgque = new Pgque(database.pool());
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const { open, passed } = gate();
  let checks = 0;
  const slow = { ...queue, ...checkedBy(queue.name, async (value) => ((checks += 1), await passed, { value })) };
  await rival.sendMany(
    queue,
    Array.from({ length: 20 }, (_, i) => i),
  );
  const handled: unknown[] = [];
  await startWorker(pgque, slow, ({ payload, attempt }) => void handled.push([payload, attempt]), {
    ...brief,
    concurrency: 20,
  });
  await until(() => checks === 20, "all are checked at once");
  await threeLeases();
  open();
  await until(() => handled.length === 20, "all are handled");
  expect([checks, handled]).toEqual([20, Array.from({ length: 20 }, (_, i) => [i, 1])]);
  expect((await unfinished(pgque, queue)).dead).toBe(0);
});

test("a schema that never answers fails its message alone", async () => {
  const pgque = new Pgque(database.pool());
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const stuck = {
    ...queue,
    ...checkedBy(queue.name, (value) => (value === 1 ? new Promise(() => undefined) : Promise.resolve({ value }))),
  };
  await rival.sendMany(queue, [0, 1, 2]);
  const handled: unknown[] = [];
  await startWorker(pgque, stuck, ({ payload }) => void handled.push(payload), { queryTimeoutMs: 1000 });
  await until(async () => (await unfinished(pgque, queue)).dead === 1 && handled.length === 2, "one is dead");
  expect((await pgque.deadLetters.list(queue))[0]?.reason).toContain("the schema did not answer within 1000 ms");
});
