import { Pgque } from "@pgque/client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** Workers that poll so seldom that only a notification, or the turn of another, explains what they handle. */
const seldom = { fallbackPollMs: 600_000, pollMinMs: 20, pollMaxMs: 20, maintainIntervalMs: 3_600_000 };

/** Workers of one process: their receives can be counted and held up. */
function makeProcess() {
  const pgque = new Pgque(database.pool());
  const receive = pgque.runtime.receive.bind(pgque.runtime);
  const hook = { before: async (): Promise<void> => undefined, after: async (): Promise<void> => undefined };
  const receives = vi.spyOn(pgque.runtime, "receive").mockImplementation(async (...given) => {
    await hook.before();
    const received = await receive(...given);
    await hook.after();
    return received;
  });
  /** Whether the workers of the queue, all in this process, have raised their one idle flag. */
  const asleep = (queue: { name: string }): Promise<void> =>
    until(async () => {
      const { rows } = await pgque.pool.query(
        `select count(*)::int as n from pg_locks l, pgque.queue q
          where q.name = $1 and l.locktype = 'advisory' and l.mode = 'ShareLock'
            and pgque.lock_key('idle', q.id) = (l.classid::bigint << 32 | l.objid::bigint)`,
        [queue.name],
      );
      return rows[0].n === 1;
    }, "they sleep");
  return { pgque, hook, receives, asleep };
}

test("one message costs as many receives beside ten workers as beside one, and they are given messages in turn", async () => {
  const { pgque, receives, asleep } = makeProcess();
  const queue = await freshQueue(pgque);
  const handled: number[] = [];
  for (let n = 0; n < 10; n++) await startWorker(pgque, queue, () => void handled.push(n), seldom);
  let receiveCount = 0;
  for (let sent = 1; sent <= 10; sent++) {
    await asleep(queue);
    receives.mockClear();
    await pgque.send(queue, sent);
    await until(() => handled.length === sent, "it is handled");
    receiveCount += receives.mock.calls.length;
  }
  // of each the one that brings it, and a second look; one more where the sender's transaction had not quite ended. Ten, if all were woken
  expect(receiveCount).toBeLessThanOrEqual(30);
  expect(new Set(handled).size).toBeGreaterThan(1);
});

test("messages that come for a worker while it stops are handled by another", async () => {
  const { pgque, hook } = makeProcess();
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  const came = gate();
  hook.after = () => {
    came.open();
    return passed;
  };
  await pgque.sendMany(queue, [1, 2, 3]);
  const handled: unknown[] = [];
  const first = await startWorker(pgque, queue, () => void handled.push("stopped"), seldom);
  await came.passed;
  await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), { ...seldom, maintainIntervalMs: 100 });
  const stopping = new Promise<unknown>((resolve) => void first.once("stopping", resolve));
  const stopped = first.stop();
  await stopping;
  hook.after = async () => undefined;
  open();
  await stopped;
  await until(async () => handled.length === 3 && (await unfinished(pgque, queue)).open === 0, "all are handled");
  expect(handled).toHaveLength(3);
  expect(new Set(handled)).toEqual(new Set([1, 2, 3]));
});

test("a worker that stops while it sleeps for all leaves another that is woken, or begins to sleep itself", async () => {
  const { pgque, asleep } = makeProcess();
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const start = () => startWorker(pgque, queue, ({ payload }) => void handled.push(payload), seldom);
  let worker = await start();
  for (let n = 1; n <= 5; n++) {
    await asleep(queue);
    const next = await start();
    await worker.stop();
    worker = next;
    await asleep(queue);
    await pgque.send(queue, n);
    await until(() => handled.length === n, "it is handled");
  }
});

test("no message is lost or handled twice while workers start and stop", { timeout: 60_000 }, async () => {
  const { pgque } = makeProcess();
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const options = { ...seldom, maintainIntervalMs: 100, concurrency: 2 };
  const start = () =>
    startWorker(
      pgque,
      queue,
      async ({ payload }) => {
        await pgque.pool.query("select");
        handled.push(payload);
      },
      options,
    );
  const workers = [await start(), await start()];
  const sent = Array.from({ length: 400 }, (_, n) => n);
  const sending = (async () => {
    for (const n of sent) await pgque.send(queue, n);
  })();
  for (let n = 0; n < 20; n++) {
    workers.push(await start());
    await workers.shift()?.stop();
  }
  await sending;
  await until(() => handled.length >= sent.length, "all are handled");
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all are settled");
  expect((handled as number[]).toSorted((one, other) => one - other)).toEqual(sent);
});

test("workers that take turns each receive as much as their own options say", async () => {
  const { pgque } = makeProcess();
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 60 }, (_, n) => n),
  );
  const most = { few: 0, many: 0 };
  let handled = 0;
  for (const [name, prefetch] of [
    ["few", 2],
    ["many", 7],
  ] as const) {
    const worker = await startWorker(pgque, queue, () => void (handled += 1), { ...seldom, concurrency: 1, prefetch });
    worker.on("received", ({ count }) => void (most[name] = Math.max(most[name], count)));
  }
  await until(() => handled === 60, "all are handled");
  expect(most.few).toBeLessThanOrEqual(2);
  expect(most.many).toBeLessThanOrEqual(7);
});

test("a receive that is not answered, or fails, is a failure of all whose turn has not come", async () => {
  const { pgque, hook } = makeProcess();
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const start = () => startWorker(pgque, queue, ({ payload }) => void handled.push(payload), seldom);
  const workers = [await start(), await start()];
  await until(() => workers.every((worker) => worker.health().waiting === "listening"), "they sleep");
  const { open, passed } = gate();
  hook.before = () => passed;
  await pgque.send(queue, 1);
  const soon = { lostAfterMs: 100 };
  const reasons = () => workers.flatMap((worker) => worker.health(soon).reasons);
  await until(
    () => reasons().filter((reason) => reason.startsWith("receiving has waited")).length === 2,
    "both say that they wait",
  );
  const told: unknown[] = [];
  for (const worker of workers) worker.on("databaseLost", () => void told.push(worker));
  // of one receive alone
  hook.before = async () => {
    hook.before = async () => undefined;
    throw new Error("no answer");
  };
  open();
  await until(() => told.length === 2, "both are told that it failed");
  expect(new Set(told)).toEqual(new Set(workers));
  await until(() => workers.every((worker) => worker.health(soon).isReady), "both are ready again");
  await until(() => handled.length > 0, "it is handled");
});
