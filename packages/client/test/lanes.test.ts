import { defineQueue, type SendManyOptions, type SendOptions } from "@pgque/client";
import { expect, test } from "vitest";
import { failure, freshClient } from "./support/client.ts";

const { pgque } = await freshClient();

const received = async (queue: ReturnType<typeof defineQueue>): Promise<unknown[]> => {
  const all: unknown[] = [];
  for (;;) {
    const batch = await pgque.receive(queue, { max: 1 });
    if (batch.id === null) return all;
    all.push(...batch.messages.map(({ payload }) => payload));
    await batch.ack();
  }
};

test("priorities: higher ones come first, and a message says which it has", async () => {
  const queue = defineQueue("priorities", { priorities: 3 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  await pgque.send(queue, "normal");
  await pgque.sendMany(queue, ["urgent 1", "urgent 2"], { priority: 2 });
  const { messages } = await pgque.receive(queue, { max: 1 });
  expect(messages).toMatchObject([{ payload: "urgent 1", priority: 2, key: null }]);
  expect(await received(queue)).toEqual(["urgent 2", "normal"]);
  expect((await failure(pgque.send(queue, 1, { priority: 3 }))).message).toContain(
    "expected priority to be an integer from 0 to 2, got: 3",
  );
  expect((await failure(pgque.send(queue, 1, { key: "k" }))).message).toContain("queue 'priorities' has no keys");
});

test("keys: an ordered consumer has one batch of a key at a time, and a failure blocks it", async () => {
  const queue = defineQueue("keys", { partitions: 16 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default", { mode: "ordered" });
  await pgque.sendMany(queue, ["a1", "a2", "none"], { keys: ["a", "a", null] });
  await pgque.send(queue, "a3", { key: "a" });
  const batches = [await pgque.receive(queue), await pgque.receive(queue)];
  const batch = batches.find(({ messages }) => messages.some(({ key }) => key === "a"));
  expect(batch?.messages.filter(({ key }) => key === "a").map(({ payload }) => payload)).toEqual(["a1", "a2", "a3"]);
  expect((await pgque.receive(queue)).id).toBeNull();
  const [first] = batch?.messages ?? [];
  await batch?.settle({
    retry: [{ id: first?.id as string, afterMs: 0 }],
    release: batch.messages.slice(1).map(({ id }) => id),
  });
  const again = await pgque.receive(queue);
  expect(again.messages.filter(({ key }) => key === "a").map(({ payload, attempt }) => [payload, attempt])).toEqual([
    ["a1", 2],
    ["a2", 1],
    ["a3", 1],
  ]);
});

test("a dedupe key: the first is sent, the others are answered with its id", async () => {
  const queue = defineQueue("deduped");
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  const { id } = await pgque.send(queue, 1, { dedupeKey: "order-43", dedupeTtlMs: 60_000 });
  expect(await pgque.send(queue, 2, { dedupeKey: "order-43" })).toEqual({ id, deduplicated: true });
  expect(await received(queue)).toEqual([1]);
});

test("expiry: what has expired is not delivered", async () => {
  const queue = defineQueue("expiring", { allowExpiry: true });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  await pgque.send(queue, "gone", { expiresAt: new Date(0) });
  await pgque.send(queue, "stays", { ttlMs: 60_000 });
  expect(await received(queue)).toEqual(["stays"]);
});

test("limits, pausing and purging", async () => {
  const queue = defineQueue("limited");
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default", { maxInFlight: 2, rateLimit: 3, ratePeriodMs: 3_600_000 });
  await pgque.sendMany(queue, [1, 2, 3, 4, 5]);
  const batch = await pgque.receive(queue);
  expect(batch.messages).toHaveLength(2);
  expect((await pgque.receive(queue)).id).toBeNull();
  await batch.ack();
  expect([await pgque.queues.pause(queue), await pgque.queues.pause(queue)]).toEqual([true, false]);
  expect((await pgque.receive(queue)).id).toBeNull();
  expect(await pgque.queues.resume(queue)).toBe(true);
  expect((await pgque.receive(queue)).messages).toHaveLength(1);
  expect([await pgque.consumers.pause(queue, "default"), await pgque.consumers.resume(queue, "default")]).toEqual([
    true,
    true,
  ]);
  expect(await pgque.queues.purge(queue)).toBe(2);
  expect((await failure(pgque.consumers.pause(queue, "nobody"))).code).toBe("CONSUMER_NOT_FOUND");
});

test("a limit for each key: the messages of one account come two at a time", async () => {
  const queue = defineQueue("per-key", { partitions: 16 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default", { maxInFlightPerKey: 2 });
  expect(await pgque.consumers.settings(queue)).toMatchObject([{ maxInFlightPerKey: 2 }]);
  await pgque.sendMany(queue, [1, 2, 3], { key: "account-7" });
  const batch = await pgque.receive(queue);
  expect(batch.messages.map(({ payload }) => payload)).toEqual([1, 2]);
  expect((await pgque.receive(queue)).id).toBeNull();
  await batch.ack();
  expect((await pgque.receive(queue)).messages.map(({ payload }) => payload)).toEqual([3]);
});

test.each<[SendOptions & SendManyOptions, string]>([
  [{ priority: 1.5 }, "expected `priority` to be an integer from 0 to 1023, got: 1.5"],
  [{ key: "ü".repeat(501) }, "expected `key` to have 0 to 1000 bytes of UTF-8, got: 1002 bytes"],
  [{ dedupeKey: "" }, "expected `dedupeKey` to have 1 to 1000 bytes of UTF-8, got: 0 bytes"],
  [{ dedupeTtlMs: 1 }, "expected `dedupeTtlMs` together with a dedupe key"],
  [{ ttlMs: 0 }, "expected `ttlMs` to be a number from 1 to 3153600000000, got: 0"],
  [{ expiresAt: new Date(), ttlMs: 1 }, "expected `ttlMs` or `expiresAt`, got both"],
])("%j is refused before anything is sent", async (options, message) => {
  const error = await failure(pgque.send(defineQueue("not there"), 1, options));
  expect([error.code, error.message]).toEqual(["INVALID_OPTION", expect.stringContaining(message)]);
});

test.each<[SendManyOptions, string]>([
  [{ keys: ["a"] }, "expected as many `keys` as payloads (2), got: 1"],
  [{ keys: ["a", 1 as unknown as string] }, "expected `keys[1]` to be a string, got: 1"],
  [{ keys: ["a", "b"], key: "c" }, "expected `key` or `keys`, got both"],
  [{ dedupeKey: "k" } as SendManyOptions, "unknown option `dedupeKey`"],
])("%j is refused for many", async (options, message) => {
  const error = await failure(pgque.sendMany(defineQueue("not there"), [1, 2], options));
  expect([error.code, error.message]).toEqual(["INVALID_OPTION", expect.stringContaining(message)]);
});
