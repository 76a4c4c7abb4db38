import { expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { pgque } = await freshClient();

const hostile = [
  "заказы",
  "🦆🦆 queue",
  `O'Brien "quoted" \\ back`,
  "'; drop schema pgque cascade; --",
  "$send$ %s %L %1$s",
  '{curly,"array"}',
  "NULL",
  " leading and trailing ",
];

test.for(hostile)("a queue and a consumer may be called %j, and carry that text", async (name) => {
  const queue = defineQueue(name);
  await pgque.ensure(queue);
  await pgque.subscribe(queue, name);
  const { id } = await pgque.send(queue, { [name]: name }, { type: name, headers: { [name]: name } });
  const many = await pgque.sendMany(queue, [name, [name], null], { type: name, headers: { [name]: name } });
  const batch = await pgque.receive(queue, { consumer: name, worker: name });

  expect(batch.messages.map((m) => m.id)).toEqual([id, ...many.map((sent) => sent.id)]);
  expect(batch.messages.map((m) => m.payload)).toEqual([{ [name]: name }, name, [name], null]);
  expect(batch.messages.every((m) => m.type === name && m.headers[name] === name)).toBe(true);
  await pgque.runtime.heartbeat(name, 1000);
  expect(await pgque.nack(batch.id ?? "0", [id], { retryAfterMs: 0, reason: name })).toBe(1);
  expect(await batch.ack()).toBe(true);
  expect(await pgque.maintain(queue)).toBeTypeOf("number");
});

test("a payload may hold what Postgres text cannot", async () => {
  const queue = defineQueue("odd text");
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  const payload = ["\0", "half a pair: \ud83d", "\u2028", "é vs e\u0301"];
  const awkward = [...payload, 'a "quoted" \\ back', "\n\t\u007f", "{NULL,}"];
  await pgque.send(queue, payload);
  await pgque.sendMany(queue, [awkward, "NULL", ""]);
  const batch = await pgque.receive(queue);
  expect(batch.messages.map((message) => message.payload)).toEqual([payload, awkward, "NULL", ""]);
  await batch.ack();
});

test("a header may not: it is refused", async () => {
  const queue = defineQueue("odd headers");
  await pgque.ensure(queue);
  expect((await failure(pgque.send(queue, 1, { headers: { a: "\0" } }))).code).toBe("INVALID_ARGUMENT");
});

test("a reason may: what cannot be stored is replaced, the batch is settled", async () => {
  const queue = defineQueue("odd reasons");
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  const ids = (await pgque.sendMany(queue, [1, 2])).map(({ id }) => id);
  const batch = await pgque.receive(queue);
  const [first = "0", second = "0"] = ids;
  expect(await batch.nack([first], { reason: "boom \0 \ud83d" })).toBe(1);
  expect(await batch.settle({ retry: [{ id: second, afterMs: 0.5, reason: "boom \0" }] })).toBe(true);
});
