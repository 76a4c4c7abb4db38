import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { maintain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

const replyTo = "0123456789abcdef";
const wanted = { headers: { "pgque-result-ttl-ms": 60_000, "pgque-reply-to": replyTo } };

async function send(payload: string, options: object = wanted): Promise<string> {
  return (await a.query("select pgque.send('q', 't', $1::text, $2) as id", [payload, options])).rows[0].id;
}
async function ack(batch: string, ids: string[], results: (string | null)[], client = a): Promise<number> {
  const { rows } = await client.query("select pgque.ack_with_results($1, $2, $3) as n", [batch, ids, results]);
  return rows[0].n;
}
async function result(id: string, consumer = "c", client = a): Promise<unknown> {
  const { rows } = await client.query("select state, result, reason from pgque.result('q', $1, $2)", [id, consumer]);
  expect(rows.length).toBeLessThan(2);
  return rows[0];
}
const done = (value: string | null) => ({ state: "done", result: value, reason: null });

test("the result of each message of each consumer is kept, and the batch ends with its last message", async () => {
  await makeQueue(a, ["c", "d"]);
  const [first, second] = [await send("1"), await send("2")];
  const { batch } = await receive(a, "c");
  expect(await result(first)).toBeUndefined();
  expect(await ack(batch, [second], ['{"n":2}'])).toBe(1);
  expect(await ack(batch, [first], [null])).toBe(1);
  expect([await result(first), await result(second)]).toEqual([done(null), done('{"n":2}')]);
  expect(await result(second, "d")).toBeUndefined();
  expect(await ack(batch, [first], ["1"])).toBe(0);
  expect(await result(first)).toEqual(done(null));
  const other = await receive(a, "d");
  expect(await ack(other.batch, [first, second], ['"d"', null])).toBe(1);
  expect(await result(first, "d")).toEqual(done('"d"'));
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("a message that was settled before keeps its first result", async () => {
  await makeQueue(a);
  const [first, second] = [await send("1"), await send("2")];
  const { batch } = await receive(a);
  await ack(batch, [first], ["1"]);
  expect(await ack(batch, [first], ["2"])).toBe(1);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '1 h')", [batch, [second]]);
  expect(await ack(batch, [second], ["2"])).toBe(0);
  expect([await result(first), await result(second)]).toEqual([done("1"), undefined]);
});

test("a result is there if and only if its transaction has committed", async () => {
  await makeQueue(a);
  const id = await send("1");
  const { batch } = await receive(a);
  await a.query("begin");
  await ack(batch, [id], ["1"]);
  expect(await result(id, "c", b)).toBeUndefined();
  await a.query("rollback");
  expect(await result(id)).toBeUndefined();
  await ack(batch, [id], ["2"]);
  expect(await result(id)).toEqual(done("2"));
});

test("with a lease that is lost nothing is kept, and strict says so", async () => {
  await makeQueue(a);
  const id = await send("1");
  const { batch } = await receive(a, "c", 10, "1 ms");
  await until(async () => (await maintain(a)) > 0, "the lease is taken away");
  expect(await ack(batch, [id], ["1"])).toBe(0);
  await expect(
    a.query("select pgque.ack_with_results($1, $2, $3, strict => true)", [batch, [id], ["1"]]),
  ).rejects.toMatchObject({ code: "PQ006" });
  expect(await result(id)).toBeUndefined();
});

test("a dead letter is a result with its reason; one that is redriven and done has the later one", async () => {
  await makeQueue(a, ["c"], { max_retries: 0 });
  const [id, plain] = [await send("1"), await send("2", {})];
  const { batch } = await receive(a);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, reason => 'no such order')", [
    batch,
    [id, plain],
  ]);
  expect([await result(id), await result(plain)]).toEqual([
    { state: "dead", result: null, reason: "no such order" },
    undefined,
  ]);
  await a.query("select pgque.redrive('q')");
  const again = await receive(a);
  await ack(again.batch, [id, plain], ["1", "2"]);
  expect([await result(id), await result(plain)]).toEqual([done("1"), done("2")]);
});

test("whoever waits is notified, and a header that names no channel notifies nobody", async () => {
  await makeQueue(a);
  const heard: (string | undefined)[] = [];
  b.on("notification", ({ payload }) => heard.push(payload));
  await b.query(`listen "pgque_reply_${replyTo}"; listen theirs; listen pgque_q`);
  const id = await send("1");
  const ids = [
    id,
    await send("2", { headers: { "pgque-reply-to": "theirs" } }),
    await send("3", { headers: { "pgque-reply-to": 5 } }),
  ];
  const { batch } = await receive(a);
  await ack(batch, ids, ["1", "2", "3"]);
  await a.query("select pg_notify('theirs', 'last')");
  await until(() => heard.includes("last"), "all is heard");
  expect(heard).toEqual([JSON.stringify({ id, consumer: "c" }).replaceAll(/([:,])/g, "$1 "), "last"]);
});

test("results are forgotten when their time is over, and are carried over until then", async () => {
  await makeQueue(a);
  await a.query(
    "create or replace function pgque.expiring_period() returns interval language sql immutable return interval '0 s'",
  );
  const short = { headers: { "pgque-result-ttl-ms": 1 } };
  const ids = [await send("1")];
  for (let i = 0; i < 9; i += 1) ids.push(await send("2", short));
  const { batch } = await receive(a);
  await ack(batch, ids, ids.map(String));
  const rotate = async (): Promise<number> => (await a.query("select pgque.rotate_expiring('result') as n")).rows[0].n;
  // the pointer moves on from a table that has rows, and once more
  expect(await rotate()).toBe(1);
  const later = await send("3");
  const second = await receive(a);
  await ack(second.batch, [later], ["3"]);
  expect([await rotate(), await rotate()]).toEqual([1, 1]);
  expect(await result(ids[0]!)).toEqual(done(ids[0]!));
  expect(await result(ids[1]!)).toBeUndefined();
  expect((await a.query("select count(*)::int as n from pgque.result")).rows).toEqual([{ n: 2 }]);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("headers that are no time and no channel do no harm", async () => {
  await makeQueue(a, ["c"], { max_retries: 0 });
  const headers = [{ "pgque-result-ttl-ms": "x" }, { "pgque-result-ttl-ms": 1e300 }, { "pgque-result-ttl-ms": -5 }, {}];
  const ids: string[] = [];
  for (const each of headers) ids.push(await send("x", { headers: { ...each, "pgque-reply-to": "'; drop table" } }));
  const { batch } = await receive(a);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, reason => null)", [batch, ids.slice(0, 3)]);
  expect(await ack(batch, [ids[3]!], ["1"])).toBe(1);
  expect([await result(ids[0]!), await result(ids[1]!), await result(ids[3]!)]).toEqual([
    undefined,
    { state: "dead", result: null, reason: null },
    done("1"),
  ]);
});

test("what cannot be kept is refused and nothing is settled", async () => {
  await makeQueue(a);
  const id = await send("1");
  const { batch } = await receive(a);
  const refused = async (ids: unknown, results: unknown): Promise<string> =>
    a.query("select pgque.ack_with_results($1, $2, $3)", [batch, ids, results]).then(
      () => "accepted",
      (error: Error) => error.message.replace(batch, "…"),
    );
  expect([
    await refused([id], []),
    await refused([id, id], ["1", "2"]),
    await refused([id], null),
    await refused(null, ["1"]),
    await refused([id], ["{"]),
    await refused([id], [`"${"x".repeat(1_048_576)}"`]),
    await refused(["99"], ["1"]),
  ]).toMatchInlineSnapshot(`
    [
      "expected as many results as message_ids, each id once, got: 0 and 1",
      "expected as many results as message_ids, each id once, got: 2 and 2",
      "expected as many results as message_ids, each id once, got: NULL and 1",
      "expected an array of message ids without NULL",
      "expected the result of message 1 to be JSON, got: {",
      "expected the result of message 1 to have at most 1048576 bytes, got: 1048578",
      "message not in batch …: 99",
    ]
  `);
  expect(await ack(batch, [id], ["1"])).toBe(1);
});
