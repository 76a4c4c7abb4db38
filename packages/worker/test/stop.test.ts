import { Pgque } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

/** Everything the consumer `default` can have right now: payload and attempt. */
async function left(queue: Awaited<ReturnType<typeof freshQueue>>): Promise<[unknown, number][]> {
  const found: [unknown, number][] = [];
  for (;;) {
    await pgque.maintain(queue);
    const batch = await pgque.receive(queue, { max: 1000 });
    if (batch.id === null) return found;
    found.push(...batch.messages.map(({ payload, attempt }): [unknown, number] => [payload, attempt]));
    await batch.ack();
  }
}

test("stop waits for what runs, acks it, and gives back what was not begun without using an attempt", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, ["a", "b", "c", "d"]);
  const { open, passed } = gate();
  const begun: unknown[] = [];
  const ended: unknown[] = [];
  const worker = await startWorker(
    pgque,
    queue,
    async ({ payload }) => {
      begun.push(payload);
      await passed;
      ended.push(payload);
    },
    { concurrency: 2, prefetch: 4 },
  );
  await until(() => begun.length === 2, "two have begun");
  const stopped = worker.stop();
  await pgque.send(queue, "sent after the stop");
  open();
  await stopped;
  expect({ begun, ended }).toEqual({ begun: ["a", "b"], ended: ["a", "b"] });
  expect(new Map(await left(queue))).toEqual(
    new Map([
      ["c", 1],
      ["d", 1],
      ["sent after the stop", 1],
    ]),
  );
});

test("stop may be called twice, before start, and while it starts", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  await worker.stop();
  const starting = worker.start();
  await Promise.all([worker.stop(), worker.stop()]);
  await starting;
  await worker.stop();
});

test("a stop that waits for nothing does not wait for a start that the database keeps waiting", async () => {
  const queue = await freshQueue(pgque);
  await using own = new Pgque({ connectionString: database.url, max: 1 });
  const only = await own.pool.connect();
  const worker = makeWorker(own, queue, () => undefined);
  const starting = worker.start();
  const refused = expect(starting).rejects.toThrow("aborted");
  await until(() => own.pool.waitingCount === 1, "the start waits for a connection");
  await worker.stop({ force: true });
  await refused;
  only.release();
});

test("a worker that is stopped in the moment in which it starts leaves nothing running", async () => {
  const queue = await freshQueue(pgque);
  const said: string[] = [];
  const log = { ...silent, info: (message: string) => void said.push(message) };
  const worker = makeWorker(pgque, queue, () => undefined, { log });
  const starting = worker.start();
  await Promise.all([worker.stop(), worker.stop()]);
  await starting;
  const again = worker.start();
  await Promise.all([worker.stop(), again]);
  expect(said.filter((message) => message === "worker stopped")).toHaveLength(
    said.filter((message) => message === "worker started").length,
  );
});

test("a stopped worker can be started again; a second start does nothing", async () => {
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const worker = await startWorker(pgque, queue, ({ payload }) => void handled.push(payload));
  await worker.stop();
  await pgque.send(queue, 1);
  await Promise.all([worker.start(), worker.start()]);
  await worker.start();
  await until(() => handled.length > 0, "the message is handled");
  await worker.stop();
  expect(handled).toEqual([1]);
});

test("a handler that is not done in time has its signal aborted, and what it then throws uses no attempt", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, "long");
  const { open: begin, passed: begun } = gate();
  const reasons: unknown[] = [];
  const worker = await startWorker(
    pgque,
    queue,
    (_message, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        });
        begin();
      }),
    { shutdownTimeoutMs: 50 },
  );
  await begun;
  await worker.stop();
  expect(reasons).toEqual([expect.objectContaining({ name: "AbortError" })]);
  expect((await unfinished(pgque, queue)).open).toBe(0);
  let found = await left(queue);
  await until(async () => (found.length > 0 ? true : ((found = await left(queue)), false)), "it comes again");
  expect(found).toEqual([["long", 1]]);
});

test("a handler that ignores its signal is left behind, and its message given back at the same attempt, be it the last", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, "deaf");
  const { open: begin, passed: begun } = gate();
  const { open, passed } = gate();
  const worker = await startWorker(
    pgque,
    queue,
    async () => {
      begin();
      await passed;
    },
    { shutdownTimeoutMs: 50 },
  );
  await begun;
  await worker.stop();
  open();
  expect(await left(queue)).toEqual([["deaf", 1]]);
});

test("a stop by force aborts handlers that an earlier stop waits for, and gives back what does not end", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "long");
  const { open: begin, passed: begun } = gate();
  const reasons: unknown[] = [];
  // it would be waited for longer than the test runs
  const options = { shutdownTimeoutMs: 86_400_000 };
  const worker = await startWorker(
    pgque,
    queue,
    (_message, { signal }) => {
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      begin();
      return new Promise(() => undefined);
    },
    options,
  );
  await begun;
  const stopped = worker.stop();
  await worker.stop({ force: true });
  await stopped;
  expect(reasons).toEqual([expect.objectContaining({ name: "AbortError" })]);
  expect(await left(queue)).toEqual([["long", 1]]);
});

test("a drain ends by force too", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "long");
  const { open: begin, passed: begun } = gate();
  const worker = makeWorker(
    pgque,
    queue,
    () => {
      begin();
      return new Promise(() => undefined);
    },
    { shutdownTimeoutMs: 86_400_000 },
  );
  const drained = worker.drain();
  await begun;
  await worker.stop({ force: true });
  expect(await drained).toMatchObject({ done: 0, retried: 0 });
  expect(await left(queue)).toEqual([["long", 1]]);
});

test("stop waits for maintenance that is under way: the connections may be closed after it", async () => {
  const queue = await freshQueue(pgque);
  const worker = await startWorker(pgque, queue, () => undefined);
  const blocker = await database.connect();
  await blocker.query("begin");
  await blocker.query("lock table pgque.delayed_soon_0 in access exclusive mode");
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await pgque.pool.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rows.length > 0;
  };
  await until(isWaiting, "maintenance is under way");
  let over = false;
  const stopped = worker.stop().then(() => (over = true));
  // much longer than a stop takes that waits for nothing
  await blocker.query("select pg_sleep(0.2)");
  expect(over).toBe(false);
  await blocker.query("commit");
  await stopped;
});
