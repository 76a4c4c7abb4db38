import { expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "../support/client.ts";

const { database, pgque } = await freshClient();
const jobs = defineQueue("jobs", { maxRetries: 1, allowExpiry: true, rotationBytes: 1_000_000_000 });
await pgque.ensure(jobs);
await pgque.subscribe(jobs);

test("peek looks at what is there, and then at what is delayed, page by page, and receives nothing", async () => {
  const { id: later } = await pgque.send(jobs, "later", { delayMs: 3_600_000 });
  await pgque.sendMany(jobs, [1, { two: 2 }, "3"], { headers: { a: 1 }, ttlMs: 3_600_000 });
  const [first, second] = await pgque.messages.peek(jobs, { max: 2 });
  expect(first).toEqual({
    id: expect.stringMatching(/^\d+$/),
    attempt: 1,
    consumer: null,
    dueAt: null,
    type: "default",
    payload: 1,
    headers: { a: 1 },
    createdAt: expect.any(Date),
    expiresAt: expect.any(Date),
    priority: null,
    key: null,
    position: expect.any(String),
  });
  const rest = await pgque.messages.peek(jobs, { after: second?.position });
  expect(rest.map((m) => [m.payload, m.dueAt?.getTime() ?? null])).toEqual([
    ["3", null],
    ["later", expect.any(Number)],
  ]);
  expect(rest.at(-1)?.id).toBe(later);
  expect((await pgque.receive(jobs, { max: 1 })).messages).toHaveLength(1);
});

test("with a consumer peek looks at what it has not received", async () => {
  const seen = await pgque.messages.peek(jobs, { consumer: "default" });
  expect(seen.map((m) => m.payload)).toEqual([{ two: 2 }, "3", "later"]);
  expect((await failure(pgque.messages.peek(jobs, { consumer: "nobody" }))).code).toBe("CONSUMER_NOT_FOUND");
  expect((await failure(pgque.messages.peek(jobs, { after: "behind" }))).code).toBe("INVALID_ARGUMENT");
  expect((await failure(pgque.messages.peek(jobs, { max: 0 }))).code).toBe("INVALID_OPTION");
});

test("follow has the last messages, then what was sent since, and always where to go on", async () => {
  const queue = defineQueue("followed");
  await pgque.ensure(queue);
  const begin = await pgque.messages.tail(queue);
  expect(begin).toEqual({ messages: [], position: expect.any(String) });
  const ids = (await pgque.sendMany(queue, [{ a: 1 }, "two"], { headers: { h: 1 } })).map(({ id }) => id);
  const page = await pgque.messages.tail(queue, { after: begin.position });
  expect(page.messages).toEqual(await pgque.messages.peek(queue));
  expect(page.messages.map(({ id }) => id)).toEqual(ids);
  expect((await pgque.messages.tail(queue, { after: page.position })).messages).toEqual([]);
  expect((await pgque.messages.tail(queue, { max: 1 })).messages).toEqual(page.messages.slice(1));
  expect((await failure(pgque.messages.tail(queue, { after: "behind" }))).code).toBe("INVALID_ARGUMENT");
  expect((await failure(pgque.messages.tail("nowhere"))).code).toBe("QUEUE_NOT_FOUND");
});

test("a message is found in whatever state it is", async () => {
  await pgque.queues.purge(jobs);
  const { id } = await pgque.send(jobs, "wanted");
  const state = async () => (await pgque.messages.find(jobs, id)).map((found) => found.state);
  expect(await state()).toEqual(["waiting"]);
  const batch = await pgque.receive(jobs);
  const [inFlight] = await pgque.messages.find(jobs, id);
  expect(inFlight).toMatchObject({
    state: "in_flight",
    consumer: "default",
    attempt: 1,
    batchId: batch.id,
    payload: "wanted",
  });
  expect(inFlight?.leasedUntil).toBeInstanceOf(Date);
  await batch.nack([id], { retryAfterMs: 3_600_000, reason: "first" });
  expect(await state()).toEqual(["retrying"]);
  const { id: other } = await pgque.send(jobs, "delayed", { delayMs: 3_600_000 });
  expect(await pgque.messages.find(jobs, other)).toMatchObject([{ state: "delayed", dueAt: expect.any(Date) }]);
  const { id: third } = await pgque.send(jobs, "acked");
  await (await pgque.receive(jobs)).ack();
  expect(await pgque.messages.find(jobs, third)).toMatchObject([{ state: "settled", consumer: "default" }]);
});

test("a dead one says why, and how to send it again", async () => {
  const strict = defineQueue("strict", { maxRetries: 0 });
  await pgque.ensure(strict);
  await pgque.subscribe(strict);
  const { id } = await pgque.send(strict, "x");
  await (await pgque.receive(strict)).nack([id], { reason: "no such user" });
  const [dead] = await pgque.messages.find(strict, id);
  expect(dead).toMatchObject({ state: "dead", reason: "no such user", diedAt: expect.any(Date) });
  expect(await pgque.deadLetters.redrive(strict, { ids: [dead?.deadLetterId ?? "0"] })).toBe(1);
});

test("of one that was never sent nothing is known", async () => {
  expect(await pgque.messages.find(jobs, "123456")).toEqual([]);
  expect((await failure(pgque.messages.find(jobs, 1 as never))).code).toBe("INVALID_OPTION");
  expect((await failure(pgque.messages.find("none", "1"))).code).toBe("QUEUE_NOT_FOUND");
});

test("a payload that is not JSON is shown as the text that it is", async () => {
  await pgque.queues.purge(jobs);
  const client = await database.connect();
  await client.query("select pgque.send('jobs', 'not {json')");
  expect((await pgque.messages.peek(jobs)).find((m) => m.payload === "not {json")).toBeDefined();
});
