import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { drain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a, ["c"], { allow_cancel: true });
});
afterEach(() => database.drop());

const sendStatement = "select pgque.send('q', 't', $1::text, $2) as id";
const send = async (payload: string, key = "k", client = a): Promise<string> =>
  (await client.query(sendStatement, [payload, { dedupe_key: key }])).rows[0].id;
const statement = "select message_id as id, state from pgque.cancel_by_key('q', $1)";
const cancel = async (...keys: string[]): Promise<{ id: string; state: string }[]> =>
  (await a.query(statement, [keys])).rows;

test("a message is cancelled by its dedupe key, which is free again then", async () => {
  const first = await send("first");
  expect(await cancel("k", "nobody's")).toEqual([{ id: first, state: "cancelled" }]);
  expect(await cancel("k")).toEqual([]);
  const second = await send("second");
  expect(second).not.toBe(first);
  expect(await send("third")).toBe(second);
  expect(await cancel("k")).toEqual([{ id: second, state: "cancelled" }]);
  await a.query(
    "select pgque.send_batch('q', 't', '{fourth,fifth}'::text[], null, '{\"dedupe_keys\": [\"k\", \"k\"]}')",
  );
  expect(await drain(a)).toEqual(["fourth"]);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("a key is kept while its message was not cancelled for all", async () => {
  const id = await send("first");
  await receive(a);
  expect(await cancel("k")).toEqual([{ id, state: "in_flight" }]);
  expect(await send("second")).toBe(id);
  const other = await send("other", "l");
  await a.query("select pgque.cancel_by_key('q', '{l}', 'c')");
  expect(await send("again", "l")).toBe(other);
});

test("who sends with a key waits for who cancels it, and the other way round", async () => {
  const first = await send("first");
  await b.query("begin");
  await b.query(statement, [["k"]]);
  const sender = await blocked(observer, a, sendStatement, ["second", { dedupe_key: "k" }]);
  await b.query("rollback");
  expect((await sender.result).rows).toEqual([{ id: first }]);
  await b.query("begin");
  await b.query(statement, [["k"]]);
  const next = await blocked(observer, a, sendStatement, ["third", { dedupe_key: "k" }]);
  await b.query("commit");
  const third = (await next.result).rows[0]?.["id"];
  expect(third).not.toBe(first);
  await b.query("begin");
  const open = await send("open", "l", b);
  const canceller = await blocked(observer, a, statement, [["l"]]);
  await b.query("commit");
  expect((await canceller.result).rows).toEqual([{ id: open, state: "cancelled" }]);
  expect(await drain(a)).toEqual(["third"]);
});

test("a key that was given back stays free when the tables of keys take turns", async () => {
  await a.query(
    "create or replace function pgque.expiring_period() returns interval language sql immutable return interval '0 s'",
  );
  const first = await send("first");
  await cancel("k");
  await a.query("select pgque.send('q', 't', 'x', '{\"dedupe_key\": \"short\", \"dedupe_ttl\": 0.001}')");
  for (let i = 0; i < 4; i++) {
    const again = await send(`again ${i}`);
    expect(again).not.toBe(first);
    await cancel("k");
    await a.query("select pgque.send('q', 't', 'x', $1)", [{ dedupe_key: `short ${i}`, dedupe_ttl: 0.001 }]);
    await a.query("select pgque.rotate_expiring('dedupe')");
  }
});
