import { expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const reminders = defineQueue("reminders", { allowCancel: true });
await pgque.ensure(reminders);
await pgque.subscribe(reminders);

const received = async (): Promise<unknown[]> => {
  const batch = await pgque.receive(reminders);
  await batch.ack();
  return batch.messages.map(({ payload }) => payload);
};

test("a message is cancelled by its id, or many by theirs, for all or for one consumer", async () => {
  const { id } = await pgque.send(reminders, "one");
  const [second, third] = await pgque.sendMany(reminders, ["two", "three"]);
  expect(await pgque.cancel(reminders, id)).toEqual([{ id, consumer: "default", state: "cancelled" }]);
  expect(await pgque.cancel("reminders", [BigInt(second!.id), "99999"], { consumer: "default" })).toEqual([
    { id: second!.id, consumer: "default", state: "cancelled" },
    { id: "99999", consumer: "default", state: "unknown" },
  ]);
  expect(await pgque.messages.find(reminders, id)).toMatchObject([{ state: "cancelled" }]);
  expect(await received()).toEqual(["three"]);
  expect(await pgque.cancel(reminders, third!.id)).toMatchObject([{ state: "settled" }]);
  expect(await pgque.cancel(reminders, [])).toEqual([]);
});

test("by its dedupe key, which is free again then", async () => {
  const first = await pgque.send(reminders, "first", { dedupeKey: "k", delayMs: 60_000 });
  expect(await pgque.cancelByKey(reminders, "k")).toMatchObject([{ id: first.id, state: "cancelled" }]);
  expect(await pgque.cancelByKey(reminders, ["k", "nobody's"])).toEqual([]);
  expect(await pgque.send(reminders, "second", { dedupeKey: "k" })).toMatchObject({ deduplicated: false });
  await pgque.queues.deliverDelayed(reminders);
  expect(await received()).toEqual(["second"]);
});

test("the message that has a dedupe key is replaced by the next with it, if it waits", async () => {
  const first = await pgque.send(reminders, "first", { dedupeKey: "r" });
  expect(await pgque.send(reminders, "kept", { dedupeKey: "r" })).toEqual({ id: first.id, deduplicated: true });
  const second = await pgque.send(reminders, "second", { dedupeKey: "r", ifWaiting: "replace" });
  expect(second).toEqual({ id: second.id, deduplicated: false, replaced: first.id });
  expect(await received()).toEqual(["second"]);
  const third = await pgque.send(reminders, "third", { dedupeKey: "r", ifWaiting: "replace" });
  expect(third, "the second one is settled").toEqual({ id: third.id, deduplicated: false });
  expect(await received()).toEqual(["third"]);
  expect(await failure(() => pgque.send(reminders, "x", { ifWaiting: "replace" }))).toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("expected `ifWaiting` together with a dedupe key"),
  });
});

test("the message that has a dedupe key is postponed as it is, if it waits", async () => {
  const later = { dedupeKey: "p", delayMs: 1, ifWaiting: "postpone" } as const;
  const first = await pgque.send(reminders, "first", later);
  const moved = await pgque.send(reminders, "second", later);
  expect(moved).toEqual({ id: moved.id, deduplicated: true, replaced: first.id });
  await pgque.queues.deliverDelayed(reminders);
  expect(await received()).toEqual(["first"]);
  expect(await pgque.send(reminders, "third", { ...later, delayMs: 0 })).toMatchObject({ deduplicated: false });
  expect(await received()).toEqual(["third"]);
  expect(await failure(() => pgque.send(reminders, "x", { dedupeKey: "p", ifWaiting: "postpone" }))).toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining('expected `ifWaiting: "postpone"` together with `delayMs` or `at`'),
  });
});

test("in the caller's transaction, if and only if it commits", async () => {
  const { id } = await pgque.send(reminders, "kept");
  const client = await database.connect();
  await client.query("begin");
  expect(await pgque.inTransaction(client).cancel(reminders, id)).toMatchObject([{ state: "cancelled" }]);
  await client.query("rollback");
  expect(await received()).toEqual(["kept"]);
});

test("what is wrong is said before anything is sent, and by the database in words of the client", async () => {
  expect(await failure(() => pgque.cancel(reminders, 7 as never))).toMatchObject({ code: "INVALID_OPTION" });
  expect(await failure(() => pgque.cancelByKey(reminders, "a\0b"))).toMatchObject({ code: "INVALID_OPTION" });
  expect(await failure(() => pgque.cancel(reminders, "1", { consumer: "" }))).toMatchObject({ code: "INVALID_OPTION" });
  expect(await failure(() => pgque.cancel(reminders, "1", { consumer: "nobody" }))).toMatchObject({
    code: "CONSUMER_NOT_FOUND",
  });
  await pgque.ensure("plain");
  expect(await failure(() => pgque.cancel("plain", "1"))).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("was created without allow_cancel"),
  });
});
