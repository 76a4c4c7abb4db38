import { expect, test } from "vitest";
import { z } from "zod";
import { defineQueue, type Message, type QueueRef } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();

/** What there is to receive; a batch is of one lane. */
async function all(queue: QueueRef): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const batch of pgque.batches(queue)) messages.push(...batch);
  return messages;
}

test("headers are added to, priority and expiry taken, unless the send says otherwise", async () => {
  const queue = defineQueue("defaults", {
    priorities: 10,
    allowExpiry: true,
    defaults: { headers: { tenant: "a", source: "shop" }, priority: 3, ttlMs: 3_600_000 },
  });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  await pgque.send(queue, 1);
  await pgque.sendMany(queue, [2], { headers: { tenant: "b" }, priority: 1 });
  const messages = await all(queue);
  expect(messages.map((m) => [m.payload, m.priority, m.headers])).toEqual([
    [1, 3, { tenant: "a", source: "shop" }],
    [2, 1, { tenant: "b", source: "shop" }],
  ]);
  const { rows } = await database.pool().query("select expires_at > now() + '59 min' as later from pgque.message_1");
  expect(rows).toEqual([{ later: true }, { later: true }]);
});

test("headers are a plain object: what has no members to be added would be lost", async () => {
  const queue = defineQueue("defaults", { defaults: { headers: { tenant: "a" } } });
  for (const headers of [new Map([["a", 1]]), new Headers({ a: "1" }), new Date(), ["a"], null]) {
    for (const call of [
      () => pgque.send(queue, 1, { headers: headers as never }),
      () => pgque.sendMany("defaults", [1], { headers: headers as never }),
      () => defineQueue("q", { defaults: { headers: headers as never } }),
    ])
      expect((await failure(call)).message).toContain("expected `headers` to be a plain object, got: ");
  }
});

test("a dedupe key is made of the payload", async () => {
  const queue = defineQueue("deduped", {
    payload: z.object({ order: z.number() }),
    defaults: { dedupeKey: ({ order }) => (order < 0 ? null : `order ${order}`), dedupeTtlMs: 60_000 },
  });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  const { id: first } = await pgque.send(queue, { order: 1 });
  expect(await pgque.send(queue, { order: 1 })).toEqual({ id: first, deduplicated: true });
  expect(await pgque.send(queue, { order: 1 }, { dedupeKey: "another" })).toMatchObject({ deduplicated: false });
  await pgque.send(queue, { order: -1 });
  expect(await pgque.send(queue, { order: -1 })).toMatchObject({ deduplicated: false });
});

test("how long a key counts that is made of the payload may be said for one send", async () => {
  const queue = defineQueue("brief", { defaults: { dedupeKey: String, dedupeTtlMs: 60_000 } });
  await pgque.ensure(queue);
  await pgque.send(queue, 1);
  await pgque.send(queue, 2, { dedupeTtlMs: 3_600_000 });
  await pgque.sendMany(queue, [3], { dedupeTtlMs: 3_600_000 });
  await pgque.sendStream(queue, [4], { dedupeTtlMs: 3_600_000 });
  const { rows } = await database
    .pool()
    .query(
      "select key, expires_at > now() + '59 min' as long from pgque.dedupe where key in ('1', '2', '3', '4') order by key",
    );
  expect(rows.map(({ key, long }) => [key, long])).toEqual([
    ["1", false],
    ["2", true],
    ["3", true],
    ["4", true],
  ]);
  for (const send of [
    () => pgque.send("brief", 5, { dedupeTtlMs: 1000 }),
    () => pgque.sendStream("brief", [5], { dedupeTtlMs: 1000 }),
  ])
    expect((await failure(send)).message).toContain("expected `dedupeTtlMs` together with a dedupe key");
});

test("a key is made of the payload, for one and for many", async () => {
  const queue = defineQueue("keyed", {
    partitions: 16,
    payload: z.object({ account: z.string() }),
    defaults: { key: ({ account }) => account },
  });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  await pgque.send(queue, { account: "a" });
  await pgque.sendMany(queue, [{ account: "b" }, { account: "c" }]);
  await pgque.sendStream(queue, [{ account: "d" }]);
  await pgque.sendMany(queue, [{ account: "e" }], { key: "mine" });
  const messages = await all(queue);
  expect(new Set(messages.map((m) => m.key))).toEqual(new Set(["a", "b", "c", "d", "mine"]));
});

test("what a batch gives back waits as long as the queue says", async () => {
  const queue = defineQueue("patient", { defaults: { retryAfterMs: 3_600_000 } });
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  await pgque.sendMany(queue, ["by default", "at once", "by an option that is not given"]);
  const batch = await pgque.receive(queue);
  const [a = "0", b = "0", c = "0"] = batch.messages.map((m) => m.id);
  await batch.nack([a]);
  await batch.nack([b], { retryAfterMs: 0 });
  await batch.nack([c], { retryAfterMs: undefined });
  const again = await pgque.receive(queue);
  expect(again.messages.map((m) => m.payload)).toEqual(["at once"]);
  const { rows } = await database.pool().query("select due_at > now() + '59 min' as later from pgque.delayed_soon_0");
  expect(rows).toEqual([{ later: true }, { later: true }]);
});

test("a function that throws, or makes no key, is named, and nothing is sent", async () => {
  for (const [key, message] of [
    [
      () => {
        throw new TypeError("no account");
      },
      '`defaults.key` of queue "keyed" threw: TypeError: no account',
    ],
    [() => 7, '`defaults.key` of queue "keyed": expected `defaults.key` to be a string, got: 7'],
  ] as const) {
    const queue = defineQueue("keyed", { partitions: 16, defaults: { key: key as never } });
    for (const call of [pgque.send(queue, 1), pgque.sendMany(queue, [1])]) {
      const error = await failure(call);
      expect([error.code, error.message]).toEqual(["INVALID_OPTION", expect.stringContaining(message)]);
    }
  }
});

test("defineQueue refuses defaults that are none", async () => {
  const error = await failure(() =>
    defineQueue("q", { defaults: { priority: -1, key: "a", retryAfterMs: "1 s", delayMs: 5 } as never }),
  );
  expect(error.message).toContain("defaults: expected `priority` to be an integer from 0 to 1023, got: -1");
  expect(error.message).toContain("expected `key` to be a function of the payload, got: 'a'");
  expect(error.message).toContain("expected `retryAfterMs` to be a number");
  expect(error.message).toContain("unknown option `delayMs`");
});
