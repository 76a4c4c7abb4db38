import { expect, test } from "vitest";
import { z } from "zod";
import { defineQueue, type Message } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { pgque } = await freshClient();
const events = defineQueue("events", {
  types: { created: z.object({ id: z.number() }), paid: z.object({ id: z.number(), at: z.coerce.date() }) },
});
await pgque.ensure(events);
await pgque.subscribe(events);

test("each type has its own schema, and a received message is told apart by its type", async () => {
  await pgque.send(events, { id: 1 }, { type: "created" });
  await pgque.sendMany(events, [{ id: 2, at: "2026-01-01" }], { type: "paid" });
  await using batch = await pgque.receive(events);
  const told = batch.messages.map((message) =>
    message.type === "paid" ? message.payload.at.getUTCFullYear() : message.payload.id,
  );
  expect(told).toEqual([1, 2026]);
  await batch.ack();
});

test("the payload of another type is refused", async () => {
  const error = await failure(pgque.send(events, { at: "2026-01-01" } as never, { type: "created" }));
  expect([error.code, error.details.issues?.[0]?.path]).toEqual(["PAYLOAD_INVALID", "id"]);
});

test.for<[string, object | undefined]>([
  ["no type", undefined],
  ["an unknown one", { type: "deleted" }],
  ["an inherited one", { type: "constructor" }],
])("%s is refused, with those that are known", async ([, options]) => {
  for (const call of [
    pgque.send(events, { id: 1 }, options as never),
    pgque.sendMany(events, [{ id: 1 }], options as never),
    pgque.sendStream(events, [{ id: 1 }], options as never),
  ]) {
    const error = await failure(call);
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.message).toContain('expected `type` to be one of queue "events", "created" or "paid", got:');
  }
});

test("a message of a type that this process does not know is invalid, and comes again for one that does", async () => {
  await pgque.send("events", { id: 3 }, { type: "refunded" });
  const batch = await pgque.receive(events);
  expect(batch.messages).toEqual([]);
  expect(batch.invalid[0]?.error.details.issues?.[0]?.message).toContain("got: 'refunded'");
  const known: Message["type"] | undefined = batch.invalid[0]?.message.type;
  expect(known).toBe("refunded");
  await batch.settle({ release: batch.open });
  const again = await pgque.receive("events");
  expect(again.messages.map((m) => [m.type, m.payload])).toEqual([["refunded", { id: 3 }]]);
  await again.ack();
});

test("by its name a queue carries anything", async () => {
  await pgque.ensure("plain");
  await pgque.subscribe("plain");
  await pgque.send("plain", ["any", 1, null]);
  expect((await pgque.receive("plain")).messages[0]?.payload).toEqual(["any", 1, null]);
  for (const queue of [
    null,
    7,
    {},
    { name: "x" },
    { name: "x", options: {} },
    { name: "x", options: {}, defaults: null },
  ]) {
    const error = await failure(pgque.send(queue as never, 1));
    expect([error.code, error.message]).toEqual([
      "INVALID_OPTION",
      expect.stringContaining("expected `queue` to be a value of defineQueue, or the name of a queue"),
    ]);
  }
});

test.for<[unknown, string]>([
  [{ types: {} }, "expected `types` to name at least one type"],
  [{ types: { a: 1 } }, "expected `types.a` to be a Standard Schema"],
  [{ types: [] }, "expected `types` to be an object"],
  [{ types: { a: z.string() }, payload: z.string() }, "expected `payload` or `types`, got both"],
])("defineQueue refuses %j", async ([definition, message]) => {
  const error = await failure(() => defineQueue("q", definition as never));
  expect([error.code, error.message]).toEqual(["INVALID_OPTION", expect.stringContaining(message)]);
});
