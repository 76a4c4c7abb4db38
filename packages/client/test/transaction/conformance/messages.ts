import { expect, test } from "vitest";
import { defineQueue, type Transaction } from "@pgque/client";
import { failure } from "../../support/client.ts";
import type { Library } from "../library.ts";
import { Setting } from "./setting.ts";

const hostile = [
  "заказы 🦆🦆",
  `O'Brien "quoted" \\ back \\\\ slashes`,
  "$1 $2::text ? ?? :name %s ${x}",
  '{curly,"array",NULL}',
  "'; drop schema pgque cascade; --",
  "2020-01-01T00:00:00.000Z",
  "\u2028 \t\n",
];

/** Every argument arrives as it was given, whatever the library does to parameters. */
export function messages<Tx extends Transaction>(library: Library<Tx>): void {
  const setting = new Setting(library);
  const { events } = setting;

  test("is received as it was sent, in a transaction too", async () => {
    await setting.app.transaction(async (tx) => {
      for (const text of hostile) {
        await setting.inTransaction(tx).send(events, { [text]: text }, { type: text, headers: { [text]: text } });
      }
      await setting.inTransaction(tx).sendMany(events, hostile, { headers: { list: hostile } });
      await setting.inTransaction(tx).send(events, { at: new Date(0), list: [1, null, ["x"]], nul: "\0" });
    });
    await setting.app.transaction(async (tx) => {
      const { messages } = await setting.inTransaction(tx).receive(events, { max: 100 });
      expect(messages.slice(0, hostile.length)).toMatchObject(
        hostile.map((text) => ({ payload: { [text]: text }, type: text, headers: { [text]: text }, attempt: 1 })),
      );
      const many = messages.slice(hostile.length, -1);
      expect(many.map((message) => message.payload)).toEqual(hostile);
      expect(many.every(({ headers }) => JSON.stringify(headers["list"]) === JSON.stringify(hostile))).toBe(true);
      const last = { at: "1970-01-01T00:00:00.000Z", list: [1, null, ["x"]], nul: "\0" };
      expect(messages.at(-1)).toMatchObject({
        payload: last,
        type: "default",
        headers: {},
        createdAt: expect.any(Date),
      });
    });
  });

  test("may be one of a thousand in one statement, or of none", async () => {
    const payloads = Array.from({ length: 1000 }, (_, i) => ({ i, text: `${i} "\\'${hostile[i % hostile.length]}` }));
    const sent = await setting.app.transaction(async (tx) => {
      expect(await setting.inTransaction(tx).sendMany(events, [])).toEqual([]);
      return setting.inTransaction(tx).sendMany(events, payloads);
    });
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1000);
    expect(await setting.drain()).toEqual(payloads);
  });

  test("has an id that is exact beyond 2^53", async () => {
    const queue = defineQueue("large ids");
    await setting.outside.ensure(queue);
    await setting.outside.subscribe(queue);
    const { rows } = await setting.database.pool().query("select max(id) as id from pgque.queue");
    await setting.database.pool().query(`select setval('pgque.message_seq_${rows[0].id}', 9007199254740993)`);
    await setting.app.transaction(async (tx) => {
      expect((await setting.inTransaction(tx).send(queue, "large")).id).toBe("9007199254740994");
    });
    await setting.app.transaction(async (tx) => {
      const batch = await setting.inTransaction(tx).receive(queue);
      expect(batch.messages.map((message) => message.id)).toEqual(["9007199254740994"]);
      expect(await batch.ack(["9007199254740994"])).toBe(true);
    });
  });

  test("can wait, have a priority, a key, an end or a dedupe key", async () => {
    const mails = defineQueue("mails", { priorities: 10 });
    const accounts = defineQueue("accounts", { partitions: 16 });
    const pushes = defineQueue("pushes", { allowExpiry: true });
    for (const queue of [mails, accounts, pushes]) {
      await setting.outside.ensure(queue);
      await setting.outside.subscribe(queue);
    }
    await setting.app.transaction(async (tx) => {
      const mine = setting.inTransaction(tx);
      await mine.send(mails, "low");
      await mine.send(mails, "high", { priority: 9 });
      await mine.send(mails, "due", { at: new Date(0), priority: 5 });
      await mine.send(mails, "later", { delayMs: 3_600_000 });
      await mine.sendMany(accounts, ["a", "none"], { keys: ['k"1\\', null] });
      const options = { dedupeKey: "it's {1}", dedupeTtlMs: 60_000, ttlMs: 60_000.5 };
      const { id } = await mine.send(pushes, "first", options);
      expect(await mine.send(pushes, "again", options)).toEqual({ id, deduplicated: true });
    });
    await setting.outside.maintain();
    await setting.app.transaction(async (tx) => {
      const received = async (queue: typeof mails) => {
        const found: unknown[] = [];
        for (;;) {
          const batch = await setting.inTransaction(tx).receive(queue);
          if (batch.id === null) return found;
          found.push(...batch.messages.map(({ payload, priority, key }) => [payload, priority ?? key]));
          await batch.ack();
        }
      };
      expect(await received(mails)).toEqual([
        ["high", 9],
        ["due", 5],
        ["low", 0],
      ]);
      expect(await received(accounts)).toEqual(
        expect.arrayContaining([
          ["a", 'k"1\\'],
          ["none", null],
        ]),
      );
      expect(await received(pushes)).toEqual([["first", null]]);
    });
  });

  test("that cannot be sent is refused before the transaction is touched", async () => {
    await setting.app.transaction(async (tx) => {
      expect((await failure(setting.inTransaction(tx).send(events, 1n))).code).toBe("PAYLOAD_NOT_JSON");
      expect((await failure(setting.inTransaction(tx).send(events, 1, { type: "\0" }))).code).toBe("INVALID_OPTION");
      await setting.inTransaction(tx).send(events, "still usable");
    });
    expect(await setting.drain()).toEqual(["still usable"]);
  });

  test("is one of many sent at the same time, on the one connection there is", async () => {
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    await setting.app.transaction(async (tx) => {
      const sent = await Promise.all(numbers.map((i) => setting.inTransaction(tx).send(events, i)));
      expect(new Set(sent.map(({ id }) => id)).size).toBe(numbers.length);
    });
    expect(await setting.drain()).toEqual(numbers);
  });
}
