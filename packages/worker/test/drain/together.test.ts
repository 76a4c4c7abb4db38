import { Pgque } from "@pgque/client";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, startWorker, unfinished } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool({ max: 30 }));
afterAll(() => database.drop());

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test("several drains of one queue share its messages, each is handled once", async () => {
  const queue = await freshQueue(pgque);
  const other = new Pgque(database.pool());
  await pgque.sendMany(queue, numbers(300));
  const handled: number[] = [];
  const drains = [pgque, pgque, other, other].map((by) =>
    makeWorker(by, queue, ({ payload }) => void handled.push(Number(payload)), { concurrency: 2, prefetch: 8 }).drain(),
  );
  const summaries = await Promise.all(drains);
  expect(handled.toSorted((a, b) => a - b)).toEqual(numbers(300));
  expect(summaries.reduce((sum, { done }) => sum + done, 0)).toBe(300);
});

test("several drains bring forward what is delayed, and none of it comes twice", async () => {
  const queue = await freshQueue(pgque);
  for (const n of numbers(40)) await pgque.send(queue, n, { delayMs: 60_000 * (n + 1) });
  const handled: number[] = [];
  const make = () => makeWorker(pgque, queue, ({ payload }) => void handled.push(Number(payload)));
  await Promise.all([1, 2, 3].map(() => make().drain({ delayed: true })));
  expect(handled.toSorted((a, b) => a - b)).toEqual(numbers(40));
});

test("a drain beside started workers, and of a worker that is started, takes what they have not", async () => {
  const queue = await freshQueue(pgque);
  const handled: number[] = [];
  const handle = ({ payload }: { payload: unknown }) => void handled.push(Number(payload));
  const started = await startWorker(pgque, queue, handle);
  const sending = pgque.sendMany(queue, numbers(200));
  const drains = [makeWorker(pgque, queue, handle).drain(), started.drain(), started.runOnce()];
  await Promise.all([sending, ...drains]);
  await until(() => handled.length >= 200, "all are handled");
  await started.stop();
  expect(handled.toSorted((a, b) => a - b)).toEqual(numbers(200));
  expect((await unfinished(pgque, queue)).open).toBe(0);
});

test("an aborted signal gives the rest back without using an attempt, and the handlers under way finish", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, numbers(30));
  const aborter = new AbortController();
  const { open, passed } = gate();
  let running = 0;
  const worker = makeWorker(
    pgque,
    queue,
    async () => {
      running += 1;
      if (running === 3) aborter.abort();
      await passed;
    },
    { concurrency: 3, prefetch: 10 },
  );
  const draining = worker.drain({ signal: aborter.signal });
  await until(() => aborter.signal.aborted, "three are under way");
  open();
  expect(await draining).toMatchObject({ done: 3, released: 7 });
  const left = await pgque.messages.peek(queue, { consumer: "default", max: 100 });
  expect(left.map(({ attempt }) => attempt)).toEqual(numbers(27).map(() => 1));
  expect((await makeWorker(pgque, queue, () => undefined).drain()).done).toBe(27);
});

test("a handler that does not come to an end is aborted, and given back", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  const aborter = new AbortController();
  let reason: unknown;
  const worker = makeWorker(
    pgque,
    queue,
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject((reason = signal.reason)));
        aborter.abort();
      }),
    { shutdownTimeoutMs: 0 },
  );
  expect(await worker.runOnce({ signal: aborter.signal })).toMatchObject({ released: 1 });
  expect(reason).toMatchObject({ name: "AbortError" });
  expect((await unfinished(pgque, queue)).open).toBe(0);
});

test("stop() ends them as well, and the worker can be used again", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, numbers(10));
  const { open, passed } = gate();
  let running = 0;
  const worker = makeWorker(
    pgque,
    queue,
    async () => {
      running += 1;
      await passed;
    },
    { concurrency: 1 },
  );
  const draining = worker.drain();
  await until(() => running === 1, "one is under way");
  const stopping = worker.stop();
  open();
  await stopping;
  expect(await draining).toMatchObject({ done: 1, released: 1 });
  expect((await worker.drain()).done).toBe(9);
  const aborted = { signal: AbortSignal.abort() };
  await pgque.send(queue, 1);
  expect(await worker.drain(aborted)).toMatchObject({ done: 0, released: 0 });
});

test("a handler that takes longer than the lease keeps its message by heartbeats", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  const attempts: number[] = [];
  const { open, passed } = gate();
  const worker = makeWorker(
    pgque,
    queue,
    async ({ attempt }) => {
      attempts.push(attempt);
      await passed;
    },
    { leaseMs: 1000, heartbeatIntervalMs: 900 },
  );
  const draining = worker.drain();
  // nobody maintains the queue here: however late the heartbeat comes, nothing has been taken away
  await until(async () => {
    const { rows } = await pgque.pool.query(
      "select b.worker, b.lease_until from pgque.queue q, pgque.open_batches(q.id) b where q.name = $1",
      [queue.name],
    );
    const alive = await pgque.runtime.workers();
    return rows.some((batch) => alive.some((w) => w.worker === batch.worker && w.aliveUntil > batch.lease_until));
  }, "its worker is alive beyond the lease");
  open();
  expect(await draining).toMatchObject({ done: 1, released: 0 });
  expect(attempts).toEqual([1]);
});

test("an error of the database is what it rejects with, when what was under way is done", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, numbers(4));
  const handled: unknown[] = [];
  const worker = makeWorker(
    pgque,
    queue,
    async ({ payload }) => {
      if (payload === 0) await pgque.unsubscribe(queue, "default");
      handled.push(payload);
    },
    { concurrency: 1, prefetch: 2 },
  );
  await expect(worker.drain()).rejects.toMatchObject({ code: "CONSUMER_NOT_FOUND" });
  expect(handled[0]).toBe(0);
});

test("a started worker that drains still hears of a pool's connections that are lost afterwards", async () => {
  const pool = database.pool();
  const own = new Pgque(pool);
  const queue = await freshQueue(own);
  const nobody = pool.listenerCount("error");
  const worker = await startWorker(own, queue, () => undefined);
  await Promise.all([worker.drain(), worker.runOnce()]);
  expect(pool.listenerCount("error")).toBe(nobody + 1);
  await worker.stop();
  expect(pool.listenerCount("error")).toBe(nobody);
});

test("what a drain is not answered does not make its started worker unready", async () => {
  const queue = await freshQueue(pgque);
  const gates = [gate(), gate()];
  let begun = 0;
  const handle = ({ payload }: { payload: unknown }) => {
    begun += 1;
    return gates[Number(payload)]?.passed;
  };
  const worker = makeWorker(pgque, queue, handle, { concurrency: 1, prefetch: 1, heartbeatIntervalMs: 100 });
  const lost: string[] = [];
  worker.on("databaseLost", ({ part }) => lost.push(part));
  await worker.start();
  await pgque.send(queue, 0);
  await until(() => begun === 1, "the started worker has one in hand, and room for no more");
  await pgque.send(queue, 1);
  const drained = worker.drain();
  await until(() => begun === 2, "the drain has the other");
  gates[0]?.open();
  await until(() => worker.health().openBatches === 0, "the started worker has nothing in hand");
  const beatAgoMs = (): number => Date.now() - Date.parse(worker.health().heartbeatAt ?? "1970-01-01");
  await until(() => beatAgoMs() > 500, "nor a heartbeat under way");
  // one that takes long, on a busy machine, ends before the lock is given
  await pgque.pool.query(
    "begin; lock table pgque.heartbeat; alter function pgque.heartbeat rename to no_heartbeat; commit",
  );
  await until(() => lost.includes("heartbeat"), "the drain is told that its heartbeat failed");
  const { failing } = worker.health();
  await pgque.pool.query("alter function pgque.no_heartbeat rename to heartbeat");
  gates[1]?.open();
  await drained;
  expect(failing).toEqual([]);
});

test("a pass that is over leaves no listener behind", async () => {
  const queue = await freshQueue(pgque);
  const aborter = new AbortController();
  const worker = makeWorker(pgque, queue, () => undefined);
  const added = vi.spyOn(AbortSignal.prototype, "addEventListener");
  const removed = vi.spyOn(AbortSignal.prototype, "removeEventListener");
  onTestFinished(() => void vi.restoreAllMocks());
  await worker.runOnce({ signal: aborter.signal });
  const left = (added.mock.contexts as AbortSignal[]).filter((signal, i) => {
    const [, listener] = added.mock.calls[i] ?? [];
    const isRemoved = removed.mock.contexts.some((of, j) => of === signal && removed.mock.calls[j]?.[1] === listener);
    return !signal.aborted && !isRemoved;
  });
  expect(left).toEqual([]);
});
