import { defineQueue, Pgque, type Queue } from "@pgque/client";
import { deadLetter, done, retry } from "@pgque/worker";
import { afterAll, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { updatesAndDeletes } from "../../../sql/test/support/statistics.ts";
import { freshQueue, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const admin = await database.connect();
afterAll(async () => {
  await pgque.close();
  await database.drop();
});

const named = (queue: { name: string }): Queue => defineQueue(queue.name);

for (const options of [{}, { transactional: true }, { mode: "ordered" as const }, { batch: true as const }])
  test(`a call returns what the handler gave, undefined where it gave nothing: ${JSON.stringify(options)}`, async () => {
    const queue = await freshQueue(pgque, { partitions: 2 });
    if ("mode" in options) await pgque.unsubscribe(queue);
    const twice = (payload: unknown) => (payload === 0 ? undefined : done({ twice: Number(payload) * 2 }));
    const handler =
      "batch" in options ? (all: { payload: unknown }[]) => all.map(({ payload }) => twice(payload)) : undefined;
    await startWorker(
      pgque,
      queue,
      (handler ?? ((message: { payload: unknown }) => twice(message.payload))) as never,
      options as never,
    );
    const payloads = [0, 1, 2, 3, 4, 5, 6, 7];
    const results = await Promise.all(payloads.map((n) => pgque.call(named(queue), n, { key: `${n % 3}` })));
    expect(results).toEqual(payloads.map((n) => (n === 0 ? undefined : { twice: n * 2 })));
    expect(await unfinished(pgque, queue)).toMatchObject({ dead: 0 });
    expect(await updatesAndDeletes(admin)).toEqual([]);
  });

test("a result comes at once, however long the rest of its batch takes", async () => {
  const queue = await freshQueue(pgque);
  let free = (): void => undefined;
  const isFree = new Promise<void>((resolve) => (free = resolve));
  await pgque.send(queue, "slow");
  const called = pgque.call(named(queue), "fast");
  await startWorker(pgque, queue, async ({ payload }) => {
    if (payload === "slow") await isFree;
    return done(payload);
  });
  expect(await called).toBe("fast");
  free();
});

test("what was tried again comes with its later result, and a dead letter is an error that says why", async () => {
  const queue = await freshQueue(pgque);
  await startWorker(pgque, queue, ({ payload }, { attempt }) => {
    if (payload === "bad") return deadLetter("no such order");
    return attempt === 1 ? retry({ afterMs: 0 }) : done(attempt);
  });
  expect(await pgque.call(named(queue), "good")).toBe(2);
  await expect(pgque.call(named(queue), "bad")).rejects.toMatchObject({
    code: "MESSAGE_DEAD",
    message: expect.stringMatching(/^message \d+ is a dead letter: no such order$/),
  });
});

test("a result that is no JSON, or too large, fails the handler and says so", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await startWorker(pgque, queue, ({ payload }) => done(payload === "large" ? "x".repeat(1_100_000) : 5n));
  await expect(pgque.call(named(queue), "bigint")).rejects.toThrow(/a bigint is not JSON/);
  await expect(pgque.call(named(queue), "large")).rejects.toThrow(/at most 1048576 bytes as JSON, got: 1100002/);
});

test("a call ends by its deadline: nobody listens, a handler that takes long, one that is cancelled", async () => {
  const queue = await freshQueue(pgque, { allowCancel: true });
  const begun = performance.now();
  await expect(pgque.call(named(queue), 1, { waitMs: 100 })).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
  const cancelled = pgque.call(named(queue), 2, { waitMs: 100, cancelOnTimeout: true });
  await expect(cancelled).rejects.toThrow(
    /has no result after 100 ms. It is cancelled. Is a worker of consumer default/,
  );
  const aborted = pgque.call(named(queue), 3, { signal: AbortSignal.timeout(50) });
  await expect(aborted).rejects.toMatchObject({ name: "TimeoutError" });
  expect(performance.now() - begun).toBeLessThan(10_000);
});

test("results are read by id for as long as the sender wanted, and of others never", async () => {
  const queue = await freshQueue(pgque);
  const { id } = await pgque.send(queue, 1, { resultTtlMs: 60_000 });
  const { id: plain } = await pgque.send(queue, 2);
  expect(await pgque.result(queue.name, id)).toBeUndefined();
  const handled: string[] = [];
  await startWorker(pgque, queue, (message) => {
    handled.push(message.id);
    return done({ ok: true });
  });
  await until(() => handled.includes(plain), "the other is handled");
  await until(async () => (await pgque.result(queue.name, id)) !== undefined, "its result is there");
  expect(await pgque.result(queue.name, id)).toEqual({
    state: "done",
    result: { ok: true },
    settledAt: expect.any(Date),
  });
  expect(await pgque.result(queue.name, id, { consumer: "other" })).toBeUndefined();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all is handled");
  expect(await pgque.result(queue.name, plain)).toBeUndefined();
});

test("the schema of a result checks it and gives its type", async () => {
  const queue = await freshQueue(pgque);
  await startWorker(pgque, queue, ({ payload }) => done({ at: payload }));
  const Answer = z.object({ at: z.coerce.date() });
  const answer = await pgque.call(named(queue), "2026-01-01T00:00:00Z", { result: Answer });
  expectTypeOf(answer).toEqualTypeOf<{ at: Date }>();
  expect(answer.at.getUTCFullYear()).toBe(2026);
  await expect(pgque.call(named(queue), "never", { result: Answer })).rejects.toMatchObject({
    code: "RESULT_INVALID",
    details: { issues: [{ path: "at" }] },
  });
});

test("a call where nobody may listen looks by itself", async () => {
  const queue = await freshQueue(pgque);
  await startWorker(pgque, queue, ({ payload }) => done(payload));
  await using deaf = new Pgque(database.url);
  // as behind a transaction pooler: the statement is answered, and nothing ever arrives
  const call = deaf.call(named(queue), 1);
  const stop = setInterval(() => {
    void admin.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen \"pgque_reply%'");
  }, 5);
  expect(await call).toBe(1);
  clearInterval(stop);
});

test("in a transaction, and on one connection, a call is refused and says what to do", async () => {
  const queue = await freshQueue(pgque);
  const inside = pgque.inTransaction(admin) as unknown as Pgque;
  await expect(inside.call(named(queue), 1)).rejects.toThrow(
    /expected to be outside of a transaction.*Send in it, commit/,
  );
  const single = new Pgque(admin);
  await expect(single.call(named(queue), 1)).rejects.toThrow(/expected a Pgque with a pool/);
});
