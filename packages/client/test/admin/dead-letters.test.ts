import { beforeEach, expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "../support/client.ts";

const { pgque } = await freshClient();
const jobs = defineQueue("jobs", { maxRetries: 0, partitions: 16 });
await pgque.ensure(jobs);
await pgque.subscribe(jobs);
await pgque.subscribe(jobs, "audit");

beforeEach(() => async () => {
  await pgque.deadLetters.purge(jobs, { all: true });
  await pgque.queues.purge(jobs);
});

/** Dies for `default`, in the order given; one dead letter each. */
async function die(...deaths: { payload: unknown; type?: string; reason?: string }[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { payload, type, reason } of deaths) {
    ids.push((await pgque.send(jobs, payload, { type, headers: { from: "test" }, key: "ключ" })).id);
    const batch = await pgque.receive(jobs);
    await batch.nack(
      batch.messages.map((m) => m.id),
      { reason },
    );
  }
  return ids;
}

test("dead letters are listed with everything that is known of them, the newest first", async () => {
  const [first = "0"] = await die({ payload: { n: 1 }, type: "order", reason: "timeout 💥" }, { payload: "two" });
  const [two, one, ...others] = await pgque.deadLetters.list(jobs);
  expect(others).toEqual([]);
  expect(two).toMatchObject({ payload: "two", type: "default", reason: null });
  expect(one).toEqual({
    id: expect.stringMatching(/^\d+$/),
    consumer: "default",
    messageId: first,
    attempt: 1,
    type: "order",
    payload: { n: 1 },
    headers: { from: "test" },
    priority: null,
    key: "ключ",
    reason: "timeout 💥",
    createdAt: expect.any(Date),
    diedAt: expect.any(Date),
  });
});

test("a list goes on where the last page ended", async () => {
  await die(...[1, 2, 3, 4, 5].map((payload) => ({ payload })));
  const seen: unknown[] = [];
  for (let beforeId: string | undefined; ;) {
    const page = await pgque.deadLetters.list(jobs, { max: 2, beforeId });
    if (page.length === 0) break;
    seen.push(page.map((letter) => letter.payload));
    beforeId = page.at(-1)?.id;
  }
  expect(seen).toEqual([[5, 4], [3, 2], [1]]);
});

test("a filter means those that fit all of it", async () => {
  await die(
    { payload: 1, type: "a", reason: "timeout after 5 s" },
    { payload: 2, type: "b", reason: "timeout after 9 s" },
    { payload: 3, type: "a", reason: "refused" },
  );
  const list = async (filter: object) => (await pgque.deadLetters.list(jobs, filter)).map((letter) => letter.payload);
  const [, middle] = await pgque.deadLetters.list(jobs);
  expect(await list({ reasonLike: "timeout%" })).toEqual([2, 1]);
  expect(await list({ reasonLike: "timeout%", type: "a" })).toEqual([1]);
  expect(await list({ consumer: "audit" })).toEqual([]);
  expect(await list({ consumer: "default", diedBefore: new Date(0) })).toEqual([]);
  expect(await list({ diedAfter: middle?.diedAt })).toEqual([3, 2]);
});

test("what is redriven goes to its consumer again, from its first attempt", async () => {
  await die({ payload: 1, reason: "timeout" }, { payload: 2, reason: "refused" });
  expect(await pgque.deadLetters.redrive(jobs, { reasonLike: "timeout" })).toBe(1);
  const batch = await pgque.receive(jobs);
  expect(batch.messages.map((m) => [m.payload, m.attempt])).toEqual([[1, 1]]);
  await batch.ack();
  const [left] = await pgque.deadLetters.list(jobs);
  expect(await pgque.deadLetters.redrive(jobs, { ids: [left?.id ?? "0", "999999"] })).toBe(1);
  expect(await pgque.deadLetters.list(jobs)).toEqual([]);
});

test("all of a queue must be asked for: a filter that came out undefined does not mean it", async () => {
  await die({ payload: 1 });
  for (const options of [{}, { consumer: undefined }, { all: false }, { all: true, type: "a" }, undefined]) {
    for (const call of ["purge", "redrive"] as const) {
      const error = await failure(pgque.deadLetters[call](jobs, options as never));
      expect([error.code, error.message]).toEqual(["INVALID_OPTION", expect.stringContaining("`all: true`")]);
    }
  }
  expect(await pgque.deadLetters.redrive(jobs, { all: true })).toBe(1);
});

test("what is purged is gone", async () => {
  await die({ payload: 1, type: "a" }, { payload: 2, type: "b" }, { payload: 3, type: "b" });
  expect(await pgque.deadLetters.purge(jobs, { type: "a" })).toBe(1);
  expect(await pgque.deadLetters.purge(jobs, { all: true, max: 1 })).toBe(1);
  expect(await pgque.deadLetters.purge(jobs, { all: true })).toBe(1);
  expect(await pgque.deadLetters.purge(jobs, { all: true })).toBe(0);
});

test.for<[string, object, string]>([
  ["an unknown filter", { reason: "x" }, "unknown option `reason`"],
  ["an id that is a number", { beforeId: 7 }, "expected `beforeId` to be an id, "],
  ["a date that is none", { diedAfter: new Date("x") }, "expected `diedAfter` to be a valid Date"],
  ["too much at once", { max: 1001 }, "expected `max` to be an integer from 1 to 1000, got: 1001"],
])("%s is refused", async ([, options, message]) => {
  const error = await failure(pgque.deadLetters.list(jobs, options));
  expect([error.code, error.message]).toEqual(["INVALID_OPTION", expect.stringContaining(message)]);
});

test("a filter that is misspelled purges nothing", async () => {
  await die({ payload: 1 });
  expect((await failure(pgque.deadLetters.purge(jobs, { reasonlike: "x" } as never))).code).toBe("INVALID_OPTION");
  expect(await pgque.deadLetters.list(jobs)).toHaveLength(1);
});
