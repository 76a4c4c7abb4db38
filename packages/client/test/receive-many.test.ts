import { Pgque, defineQueue } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const kinds = [
  { headers: {}, type: "default" },
  { headers: { tenant: "a,b", n: 1 }, type: "default" },
  { headers: {}, type: 'order,"created"' },
  { headers: { "\\": ["\n"] }, type: "deleted" },
];

test("a large batch is in order, and each message has what is its own", async () => {
  const queue = defineQueue("many");
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  const sent: { id: string; payload: unknown; headers: unknown; type: string }[] = [];
  for (let i = 0; i < 350; i += 1) {
    const { headers, type } = kinds[i % 3 === 0 ? 0 : i % kinds.length] ?? { headers: {}, type: "default" };
    const payload = i % 5 === 0 ? null : { i, text: `,"${i}",\n[` };
    const { id } = await pgque.send(queue, payload, { headers, type });
    sent.push({ id, payload, headers, type });
  }
  const batch = await pgque.receive(queue, { max: 1000 });
  expect(batch.messages.map(({ id, payload, headers, type }) => ({ id, payload, headers, type }))).toEqual(sent);
  expect(new Set(batch.messages.map(({ attempt, priority, key }) => `${attempt} ${priority} ${key}`))).toEqual(
    new Set(["1 null null"]),
  );
  // every third fails once: it comes with its headers, one attempt further
  const retried = sent.filter((_, i) => i % 3 === 1);
  await batch.settle({ retry: retried.map(({ id }) => ({ id, afterMs: 0 })) });
  await pgque.send(queue, "new");
  await pgque.maintain(queue);
  const again = await pgque.receive(queue, { max: 1000 });
  const attempts = new Map(again.messages.map(({ id, attempt }) => [id, attempt]));
  expect(retried.map(({ id }) => attempts.get(id))).toEqual(retried.map(() => 2));
  expect([...attempts.values()].filter((attempt) => attempt === 1)).toEqual([1]);
  const first = again.messages.find(({ id }) => id === retried[1]?.id);
  expect(first).toMatchObject({ headers: retried[1]?.headers, type: retried[1]?.type, payload: retried[1]?.payload });
});

test("keys and priorities come with their messages", async () => {
  const byKey = defineQueue("keyed", { partitions: 1 });
  const byPriority = defineQueue("urgent", { priorities: 10 });
  for (const queue of [byKey, byPriority]) {
    await pgque.ensure(queue);
    await pgque.subscribe(queue);
  }
  const keys = Array.from({ length: 220 }, (_, i) => (i % 2 === 0 ? `k"${i},` : `k${i}`));
  for (const key of keys) await pgque.send(byKey, key, { key });
  const keyed = await pgque.receive(byKey, { max: 1000 });
  expect(keyed.messages.map(({ key }) => key)).toEqual(keys);
  await pgque.send(byPriority, "now", { priority: 0 });
  const [urgent] = (await pgque.receive(byPriority)).messages;
  expect(urgent).toMatchObject({ payload: "now", priority: 0, key: null, attempt: 1 });
});
