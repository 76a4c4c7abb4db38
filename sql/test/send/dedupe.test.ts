import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { drain, maintain, makeQueue } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a);
});
afterEach(() => database.drop());

const statement = "select pgque.send('q', 't', $1::text, $2) as id";
async function sendKey(client: pg.Client, payload: string, key = "k", more = {}): Promise<string> {
  return (await client.query(statement, [payload, { dedupe_key: key, ...more }])).rows[0].id;
}
/** Every table takes keys for as long as none has run out in the one before it. */
const hurry = (): Promise<unknown> =>
  a.query(
    "create or replace function pgque.expiring_period() returns interval language sql immutable return interval '0 s'",
  );
const rotate = async (): Promise<number> =>
  (await a.query("select pgque.rotate_expiring('dedupe') as done")).rows[0].done;
const current = async (): Promise<number> =>
  (await a.query("select pgque.pointer_segment(pg_sequence_last_value('pgque.dedupe_pointer')) as n")).rows[0].n;

test("of the messages with one key the first is sent, the others are answered with its id", async () => {
  const first = await sendKey(a, "first");
  expect(await sendKey(b, "second")).toBe(first);
  expect(await sendKey(b, "later", "k", { delay: 0.001 })).toBe(first);
  expect(await sendKey(b, "other key", "l")).not.toBe(first);
  expect(await drain(a)).toEqual(["first", "other key"]);
  expect(await sendKey(a, "handled or not")).toBe(first);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("send_deduplicated says whether the message was sent", async () => {
  const say = "select id, deduplicated from pgque.send_deduplicated('q', 't', $1, $2)";
  const sent = async (client: pg.Client, payload: string, options: object | null) =>
    (await client.query(say, [payload, options])).rows[0];
  const first = await sent(a, "first", { dedupe_key: "k" });
  expect(first).toEqual({ id: expect.stringMatching(/^\d+$/), deduplicated: false });
  expect(await sent(b, "second", { dedupe_key: "k" })).toEqual({ id: first.id, deduplicated: true });
  expect(await sent(b, "no key", null)).toMatchObject({ deduplicated: false });
  // the look waits for the first of two that send at once, whose id may be the higher one
  await a.query("begin");
  const open = await sent(a, "open", { dedupe_key: "l" });
  const waiting = await blocked(observer, b, say, ["waits", { dedupe_key: "l" }]);
  await a.query("commit");
  expect((await waiting.result).rows).toEqual([{ id: open.id, deduplicated: true }]);
  expect(await drain(a)).toEqual(["first", "no key", "open"]);
});

test("a key counts for a queue, is any text, and is forgotten when its time to live is over", async () => {
  await a.query("select pgque.create_queue('other')");
  const key = `Zürich '; drop table x; -- ${"订".repeat(300)}`;
  const first = await sendKey(a, "first", key, { dedupe_ttl: 0.2 });
  await a.query("select pgque.send('other', 't', 'x', $1)", [{ dedupe_key: key }]);
  expect((await a.query("select count(*)::int as n from pgque.message_2")).rows).toEqual([{ n: 1 }]);
  await until(async () => (await sendKey(b, "second", key)) !== first, "the key has run out");
  expect(await drain(a)).toEqual(["first", "second"]);
});

test("a delayed message has its key from when it is sent, and one that was rolled back has none", async () => {
  const first = await sendKey(a, "delayed", "k", { delay: 3600 });
  expect(await sendKey(b, "second")).toBe(first);
  await a.query("begin");
  await sendKey(a, "rolled back", "l");
  await a.query("rollback");
  await sendKey(b, "sent", "l");
  expect(await drain(a)).toEqual(["sent"]);
});

test("two that send with one key at once: the second waits, and is answered with the id of the first", async () => {
  await a.query("begin");
  const first = await sendKey(a, "first");
  const second = await blocked<{ id: string }>(observer, b, statement, ["second", { dedupe_key: "k" }]);
  await a.query("commit");
  expect((await second.result).rows).toEqual([{ id: first }]);
  expect(await drain(a)).toEqual(["first"]);
});

test("… or is sent itself, when the first rolls back", async () => {
  await a.query("begin");
  await sendKey(a, "first");
  const second = await blocked(observer, b, statement, ["second", { dedupe_key: "k" }]);
  await a.query("rollback");
  await second.result;
  expect(await drain(a)).toEqual(["second"]);
});

test("a transaction that cannot see what others have committed cannot use keys, and is told so", async () => {
  await a.query("begin isolation level repeatable read");
  await expect(sendKey(a, "x")).rejects.toMatchObject({ code: "PQ005" });
  await a.query("rollback");
});

test("keys are found across a rotation, and the table is truncated when all have run out", async () => {
  await hurry();
  await sendKey(a, "short", "short", { dedupe_ttl: 0.3 });
  const first = await sendKey(a, "first", "long", { dedupe_ttl: 0.3 });
  expect(await rotate()).toBe(1);
  expect(await current()).toBe(1);
  expect(await sendKey(b, "second", "long")).toBe(first);
  // the keys in the table before have not run out
  await sendKey(b, "next", "next");
  expect(await rotate()).toBe(0);
  await until(async () => (await rotate()) === 1 && (await current()) === 2, "the pointer moves on");
  await until(async () => (await sendKey(b, "again", "long")) !== first, "the key has run out");
  await until(async () => (await maintain(a)) >= 0 && (await size(0)) === 0, "the first table is truncated");
  expect(await sendKey(b, "still there", "next")).not.toBe("0");
  expect(await drain(a)).toEqual(["short", "first", "next", "again"]);
});

test("a sender keeps nobody from truncating the table that has run out", async () => {
  await b.query("begin");
  await sendKey(b, "open");
  for (const [table, isFree] of [
    [0, false],
    [1, true],
    [2, false],
  ]) {
    await a.query("begin");
    const lock = a.query(`lock table only pgque.dedupe_${table} in access exclusive mode nowait`);
    if (isFree) await lock;
    else await expect(lock).rejects.toMatchObject({ code: "55P03" });
    await a.query("rollback");
  }
  await b.query("commit");
});

test("a sender that has looked for its key before the pointer moved on twice is found by the next", async () => {
  await b.query("begin");
  await b.query("lock table pgque.dedupe_0 in exclusive mode");
  const first = await blocked<{ id: string }>(observer, a, statement, ["first", { dedupe_key: "k" }]);
  await b.query("select setval('pgque.dedupe_pointer', pgque.pointer_to(1))");
  await b.query("select setval('pgque.dedupe_pointer', pgque.pointer_to(2))");
  await b.query("commit");
  const [{ id }] = (await first.result).rows as [{ id: string }];
  expect(await sendKey(b, "second")).toBe(id);
});

test("the pointer does not pass a table with keys that are not committed", async () => {
  await hurry();
  await b.query("begin");
  const first = await sendKey(b, "first");
  expect(await rotate()).toBe(1);
  await sendKey(a, "other", "other");
  expect(await rotate()).toBe(0);
  expect(await current()).toBe(1);
  await b.query("commit");
  expect(await rotate()).toBe(0);
  expect(await sendKey(a, "second")).toBe(first);
});

async function size(table: number): Promise<number> {
  const { rows } = await a.query(
    "select pg_relation_size(format('pgque.dedupe_%s', $1::int)::regclass)::int as bytes",
    [table],
  );
  return rows[0].bytes;
}

/** Keys as senders have left them, all in the current table. */
const leaveKeys = (count: number, key: string, ttl: string): Promise<unknown> =>
  a.query(
    `insert into pgque.dedupe
     select pgque.pointer_segment(pg_sequence_last_value('pgque.dedupe_pointer')), q.uid, format($1, i), i, clock_timestamp() + $2::interval
       from pgque.queue q, generate_series(1, $3::int) as i`,
    [key, ttl, count],
  );

test.each([
  ["send", (key: string) => `select pgque.send('q', 't', 'x', '{"dedupe_key": "${key}"}')`],
  [
    "send_batch",
    (key: string) => `select pgque.send_batch('q', 't', '{x}'::text[], options => '{"dedupe_keys": ["${key}"]}')`,
  ],
])("a %s with a key that was used often reads no more than one with a new key", async (_name, call) => {
  await leaveKeys(3000, "often", "-1 s");
  await leaveKeys(3000, "key %s", "1 h");
  const buffers = async (key: string): Promise<number> => {
    await a.query(call(`${key} warm`));
    const { rows } = await a.query(`explain (analyze, buffers, format json) ${call(key)}`);
    const plan = rows[0]["QUERY PLAN"][0].Plan;
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  };
  expect(await buffers("often")).toBeLessThan(1.5 * (await buffers("new")));
});

test("a key that counts for long keeps none of those that have run out, and is found for as long as it counts", async () => {
  await hurry();
  const first = await sendKey(a, "first", "long", { dedupe_ttl: "30 days" });
  for (let round = 0; round < 6; round++) {
    await leaveKeys(1000, `round ${round} %s`, "-1 s");
    await until(async () => (await rotate()) === 0, "nothing is left to rotate");
    expect(await sendKey(b, "second", "long")).toBe(first);
  }
  const { rows } = await a.query("select count(*)::int as kept, count(distinct key)::int as keys from pgque.dedupe");
  expect(rows[0].kept).toBeLessThan(2500);
  expect(await drain(a)).toEqual(["first"]);
});
