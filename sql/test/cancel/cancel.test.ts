import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring } from "../support/queue.ts";
import { until } from "../../../test/support/until.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { buffersOf, buffersOfReceive, updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

const withCancel = { allow_cancel: true };

async function send(payload: string, options: object | null = null, client = a): Promise<string> {
  return (await client.query("select pgque.send('q', 't', $1::text, $2) as id", [payload, options])).rows[0].id;
}
const statement = "select message_id, consumer, state from pgque.cancel('q', $1, $2)";
/** Cancels messages; the answers, by message and consumer. */
async function cancel(ids: string[], consumer: string | null = null, client = a): Promise<string[]> {
  const { rows } = await client.query(statement, [ids, consumer]);
  return rows.map((row) => `${ids.indexOf(row.message_id)} ${row.consumer} ${row.state}`);
}
async function states(id: string): Promise<string[]> {
  const { rows } = await a.query("select consumer, state from pgque.find_message('q', $1)", [id]);
  return rows.map(({ consumer, state }) => `${consumer} ${state}`);
}
async function depth(consumer = "c"): Promise<number> {
  const { rows } = await a.query("select depth::int from pgque.consumer_status('q') where consumer = $1", [consumer]);
  return rows[0].depth;
}
const mark = async (): Promise<number> =>
  (await a.query("select pg_sequence_last_value('pgque.has_cancelled_1')::int as mark")).rows[0].mark;
const nack = (batch: string, wait: string): Promise<unknown> =>
  a.query("select pgque.nack($1, array(select message_id from pgque.batch_messages($1)), $2::interval)", [batch, wait]);

test("a message that waits is cancelled, and those around it are delivered", async () => {
  await makeQueue(a, ["c"], withCancel);
  const ids = [await send("one"), await send("two"), await send("three"), await send("four")];
  expect(await cancel([ids[1]!, ids[3]!])).toEqual(["0 c cancelled", "1 c cancelled"]);
  expect(await cancel([ids[1]!])).toEqual(["0 c cancelled"]);
  expect(await depth()).toBe(2);
  expect(await states(ids[1]!)).toEqual(["c cancelled"]);
  expect((await a.query("select payload from pgque.peek('q', 'c')")).rows.map((row) => row.payload)).toEqual([
    "one",
    "three",
  ]);
  expect(await drain(a)).toEqual(["one", "three"]);
  expect(await states(ids[3]!)).toEqual(["c cancelled"]);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("pages of one message pass over what is cancelled, and a poll of nothing else moves the cursor once", async () => {
  await makeQueue(a, ["c"], withCancel);
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push(await send(`${i}`));
  await cancel(ids.filter((_, i) => i % 3 !== 0));
  const seen: string[] = [];
  for (;;) {
    const { payloads, batch } = await receive(a, "c", 1);
    if (payloads.length === 0) break;
    seen.push(...payloads);
    await ack(a, batch);
  }
  expect(seen).toEqual(["0", "3", "6", "9", "12", "15", "18"]);
  await cancel([await send("alone")]);
  const rows = async (): Promise<number> =>
    (await a.query("select count(*)::int as n from pgque.batch_1")).rows[0].n as number;
  const before = await rows();
  for (let i = 0; i < 3; i++) expect((await receive(a)).payloads).toEqual([]);
  expect(await rows()).toBe(before + 1);
  expect(await depth()).toBe(0);
});

test("it is too late for what a worker has, and for what is settled", async () => {
  await makeQueue(a, ["c"], withCancel);
  const ids = [await send("one"), await send("two")];
  const { batch } = await receive(a, "c", 1);
  expect(await cancel(ids)).toEqual(["0 c in_flight", "1 c cancelled"]);
  await ack(a, batch);
  expect(await cancel([...ids, "999"])).toEqual(["0 c settled", "1 c cancelled", "2 c unknown"]);
  expect(await drain(a)).toEqual([]);
});

test("what is to be tried again is cancelled, whether it waits in the segments or for its time", async () => {
  await makeQueue(a, ["c"], withCancel);
  const ids = [await send("at once"), await send("later")];
  await nack((await receive(a, "c", 1)).batch, "0 s");
  const { batch, payloads } = await receive(a, "c", 1);
  expect(payloads).toEqual(["later"]);
  await nack(batch, "1 hour");
  expect(await cancel(ids)).toEqual(["0 c cancelled", "1 c cancelled"]);
  await a.query("select pgque.deliver_delayed('q')");
  expect(await drain(a)).toEqual([]);
  expect([await states(ids[0]!), await states(ids[1]!)]).toEqual([["c cancelled"], ["c cancelled"]]);
});

test("a dead letter is none of it, and expired messages stay expired", async () => {
  await makeQueue(a, ["c"], { ...withCancel, allow_expiry: true });
  const ids = [await send("dead"), await send("expired", { ttl: 0.001 })];
  const { batch } = await receive(a, "c", 1);
  await a.query("select pgque.bury($1, $2)", [batch, [ids[0]]]);
  expect(await cancel(ids)).toEqual(["0 c dead", "1 c expired"]);
  expect(await drain(a)).toEqual([]);
});

test("a delayed message is cancelled, and stays so when it is moved and delivered", async () => {
  await makeQueue(a, ["c", "d"], withCancel);
  await hurryDelayed(a);
  const ids = [
    await send("all", { delay: 1 }),
    await send("one", { delay: 1 }),
    await send("none", { delay: 1 }),
    await send("soon", { delay: 0.2 }),
  ];
  expect(await cancel([ids[0]!, ids[3]!])).toEqual([
    "0 c cancelled",
    "0 d cancelled",
    "1 c cancelled",
    "1 d cancelled",
  ]);
  expect(await cancel([ids[1]!], "c")).toEqual(["0 c cancelled"]);
  expect(await cancel([ids[1]!], "c")).toEqual(["0 c cancelled"]);
  const waiting = "select payload from pgque.peek('q', 'c') where due_at is not null";
  expect((await a.query(waiting)).rows).toEqual([{ payload: "none" }]);
  await until(async () => {
    await maintain(a);
    return (await a.query("select from pgque.peek('q') where due_at is not null")).rowCount === 0;
  }, "all is delivered");
  expect(await drain(a, "c")).toEqual(["none"]);
  expect(await drain(a, "d")).toEqual(["one", "none"]);
  expect(await cancel([ids[0]!, ids[1]!])).toEqual(["0 c cancelled", "0 d cancelled", "1 c cancelled", "1 d settled"]);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("one consumer's is not another's; for all is also for who subscribes later, and for who seeks", async () => {
  await makeQueue(a, ["c", "d"], { ...withCancel, retention: "1 hour" });
  const ids = [await send("of c"), await send("of all"), await send("kept")];
  expect(await cancel([ids[0]!], "c")).toEqual(["0 c cancelled"]);
  expect(await cancel([ids[1]!])).toEqual(["0 c cancelled", "0 d cancelled"]);
  expect(await drain(a, "c")).toEqual(["kept"]);
  expect(await drain(a, "d")).toEqual(["of c", "kept"]);
  await a.query('select pgque.subscribe(\'q\', \'e\', \'{"from": "earliest", "mode": "shared"}\')');
  expect(await drain(a, "e")).toEqual(["of c", "kept"]);
  await a.query("select pgque.seek('q', 'c', 'earliest')");
  expect(await drain(a, "c")).toEqual(["kept"]);
});

test("what one consumer has already received is cancelled for the others alone", async () => {
  await makeQueue(a, ["c", "d"], withCancel);
  const id = await send("one");
  const { batch } = await receive(a, "c");
  expect(await cancel([id])).toEqual(["0 c in_flight", "0 d cancelled"]);
  expect(await drain(a, "d")).toEqual([]);
  // given back, it is handed out again
  await a.query("select pgque.settle($1, release_ids => $2)", [batch, [id]]);
  expect(await drain(a, "c")).toEqual(["one"]);
});

test("without consumers a message is cancelled for whoever comes", async () => {
  await makeQueue(a, [], withCancel);
  const ids = [await send("one"), await send("two")];
  expect(await cancel([ids[0]!])).toEqual(["0 null cancelled"]);
  await a.query('select pgque.subscribe(\'q\', \'c\', \'{"from": "earliest", "mode": "shared"}\')');
  expect(await drain(a)).toEqual(["two"]);
});

test("a receive waits for who cancels, and sees whether that was committed", async () => {
  await makeQueue(a, ["c"], withCancel);
  const ids = [await send("one"), await send("two")];
  await b.query("begin");
  expect(await cancel([ids[0]!], null, b)).toEqual(["0 c cancelled"]);
  const first = await blocked(observer, a, "select payload from pgque.receive_messages('q', 'c', max_messages => 1)");
  await b.query("commit");
  expect((await first.result).rows).toEqual([{ payload: "two" }]);
  const third = await send("three");
  await b.query("begin");
  await cancel([third], null, b);
  const second = await blocked(observer, a, "select payload from pgque.receive_messages('q', 'c')");
  await b.query("rollback");
  expect((await second.result).rows).toEqual([{ payload: "three" }]);
});

test("who cancels waits for a receive, and is told that it was too late, or that it was rolled back", async () => {
  await makeQueue(a, ["c"], withCancel);
  const id = await send("one");
  await b.query("begin");
  await receive(b);
  const late = await blocked(observer, a, statement, [[id], null]);
  await b.query("rollback");
  expect((await late.result).rows).toMatchObject([{ state: "cancelled" }]);
  const other = await send("two");
  await b.query("begin");
  expect((await receive(b)).payloads).toEqual(["two"]);
  const tooLate = await blocked(observer, a, statement, [[other], null]);
  await b.query("commit");
  expect((await tooLate.result).rows).toMatchObject([{ state: "in_flight" }]);
});

test("a message that is just being delivered is found where it comes to", async () => {
  await makeQueue(a, ["c"], withCancel);
  const id = await send("one", { delay: 0.001 });
  await b.query("begin");
  await b.query("select pgque.maintain('q')");
  const waiting = await blocked(observer, a, statement, [[id], null]);
  await b.query("commit");
  expect((await waiting.result).rows).toMatchObject([{ state: "cancelled" }]);
  expect(await drain(a)).toEqual([]);
});

test("consumers go on receiving while a cancel waits for delayed messages to be delivered", async () => {
  await makeQueue(a, ["c"], withCancel);
  const delayed = await send("later", { delay: 60 });
  const first = await send("now");
  await b.query("begin");
  await b.query("select pgque.deliver_delayed('q')");
  const waiting = await blocked(observer, a, statement, [[delayed, first], null]);
  expect((await receive(observer, "c")).payloads).toEqual(["now"]);
  await b.query("commit");
  const { rows } = await waiting.result;
  expect(rows.map(({ message_id, state }) => [message_id, state])).toEqual([
    [delayed, "cancelled"],
    [first, "in_flight"],
  ]);
  expect(await drain(a, "c")).toEqual([]);
});

test("a message of a transaction that is open is unknown, and is delivered", async () => {
  await makeQueue(a, ["c"], withCancel);
  await b.query("begin");
  const id = await send("one", null, b);
  expect(await cancel([id])).toEqual(["0 c unknown"]);
  await b.query("commit");
  expect(await cancel([id], null, b)).toEqual(["0 c cancelled"]);
});

test("an ordered consumer's lane goes on without a message that waits in it to be tried again", async () => {
  await a.query("select pgque.create_queue('q', '{\"partitions\": 1, \"allow_cancel\": true}')");
  await a.query('select pgque.subscribe(\'q\', \'c\', \'{"from": "earliest", "mode": "ordered"}\')');
  const ids = [await send("one", { key: "k" }), await send("two", { key: "k" }), await send("three", { key: "k" })];
  const { batch } = await receive(a, "c", 2);
  expect(await cancel(ids)).toEqual(["0 c in_flight", "1 c in_flight", "2 c cancelled"]);
  await a.query("select pgque.nack($1, $2::bigint[], interval '1 hour')", [batch, [ids[0]]]);
  expect(await states(ids[0]!)).toEqual(["c retrying"]);
  expect(await cancel([ids[0]!])).toEqual(["0 c cancelled"]);
  await a.query("select pgque.deliver_delayed('q')");
  expect(await drain(a)).toEqual(["two"]);
  expect(await depth()).toBe(0);
});

test("priorities: the lowest is reached past higher ones that are all cancelled", async () => {
  await makeQueue(a, ["c"], { ...withCancel, priorities: 3 });
  const ids = [await send("low"), await send("high", { priority: 2 }), await send("middle", { priority: 1 })];
  await cancel([ids[1]!, ids[2]!]);
  expect(await drain(a)).toEqual(["low"]);
});

test("an exclusive consumer is not given what is cancelled", async () => {
  await makeQueue(a, [], withCancel);
  await a.query('select pgque.subscribe(\'q\', \'c\', \'{"from": "earliest", "mode": "exclusive"}\')');
  const ids = [await send("one"), await send("two"), await send("three")];
  await cancel([ids[1]!]);
  const { batch, payloads } = await receive(a);
  expect(payloads).toEqual(["one", "three"]);
  expect((await receive(a)).payloads).toEqual(["one", "three"]);
  await ack(a, batch);
  expect((await receive(a)).payloads).toEqual([]);
});

test("a segment of cancelled messages is truncated with their cancellations, and then nothing is looked for any more", async () => {
  await makeQueue(a, ["c"], withCancel);
  await fillSegment(a);
  const { rows } = await a.query("select array_agg(m.id) as ids from pgque.message_1 m");
  await a.query("select pgque.cancel('q', $1)", [rows[0].ids]);
  expect(await mark()).toBe(1);
  expect(await drain(a)).toEqual([]);
  for (let i = 0; i < 6; i++) await maintain(a);
  expect((await ring(a)).bytes).toEqual([0, 0, 0].map(() => expect.any(Number)));
  expect((await a.query("select count(*)::int as n from pgque.message_1")).rows).toEqual([{ n: 0 }]);
  expect((await a.query("select count(*)::int as n from pgque.cancelled_1")).rows).toEqual([{ n: 0 }]);
  expect(await mark()).toBe(0);
  expect(await updatesAndDeletes(a)).toEqual([]);
  await send("after");
  expect(await drain(a)).toEqual(["after"]);
});

test("nothing is forgotten while somebody cancels", async () => {
  await makeQueue(a, ["c"], withCancel);
  const id = await send("one");
  await b.query("begin");
  await cancel([id], null, b);
  for (let i = 0; i < 3; i++) await maintain(a);
  expect(await mark()).toBe(1);
  await b.query("commit");
  expect(await drain(a)).toEqual([]);
});

test("what is cancelled is passed over by index, whatever the statistics say, and is not read twice", async () => {
  await makeQueue(a, ["c"], { ...withCancel, rotation_bytes: 1_000_000_000 });
  await a.query("select pgque.send_batch('q', array_fill('x'::text, array[5100]))");
  const { rows } = await a.query("select array_agg(m.id order by m.id) as ids from pgque.message_1 m");
  for (let i = 0; i < 5000; i += 1000) await cancel(rows[0].ids.slice(i, i + 1000));
  // one look into each index for each of them; a scan of all cancellations for each would be 150,000
  const explained = await a.query(
    "explain (analyze, buffers, format json) select * from pgque.receive_messages('q', 'c', max_messages => 10)",
  );
  const plan = explained.rows[0]["QUERY PLAN"][0].Plan;
  expect(plan["Actual Rows"]).toBe(10);
  expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(40_000);
  expect((await buffersOfReceive(a, 10)).buffers).toBeLessThan(500);
  expect(await buffersOf(a, "select * from pgque.consumer_status('q')")).toBeLessThan(3000);
});

test("a ring that has grown knows what is cancelled in every segment", async () => {
  await makeQueue(a, ["c", "d"], withCancel);
  const kept: string[] = [];
  for (let i = 0; i < 6; i++) {
    await fillSegment(a, `${i}`);
    const { rows } = await a.query(
      "select array_agg(m.id) filter (where m.seq % 2 = 0) as ids, array_agg(m.payload order by m.seq) filter (where m.seq % 2 = 1) as kept from pgque.message_1 m where m.payload like $1",
      [`${i} %`],
    );
    await a.query("select pgque.cancel('q', $1, 'c')", [rows[0].ids]);
    kept.push(...rows[0].kept);
    await a.query("select pgque.grow_ring(1, $1)", [3 + i]);
    await maintain(a);
    await maintain(a);
  }
  expect(await drain(a)).toEqual(kept);
  expect((await drain(a, "d")).length).toBe(600);
});

test("purge and drop leave nothing behind", async () => {
  await makeQueue(a, ["c"], withCancel);
  const ids = [await send("one"), await send("two", { delay: 60 })];
  await cancel(ids);
  await a.query("select pgque.purge('q')");
  await a.query("select pgque.unsubscribe('q', 'c')");
  await send("three");
  await a.query("select pgque.purge('q')");
  await a.query("select pgque.drop_queue('q')");
  const { rows } = await a.query(
    "select c.relname from pg_class c where c.relnamespace = 'pgque'::regnamespace and c.relname ~ 'cancelled_\\d'",
  );
  expect(rows).toEqual([]);
});

test("repair keeps what is cancelled", async () => {
  await makeQueue(a, ["c", "d"], withCancel);
  const ids = [await send("one"), await send("two"), await send("later", { delay: 60 }), await send("kept")];
  await cancel([ids[0]!, ids[2]!]);
  await cancel([ids[1]!], "c");
  await a.query("select pgque.repair(true)");
  await a.query("select pgque.deliver_delayed('q')");
  expect(await drain(a, "c")).toEqual(["kept"]);
  expect(await drain(a, "d")).toEqual(["two", "kept"]);
});

test("names with quotes and percent signs are only names", async () => {
  const name = `"'%s$1\\; drop`;
  await a.query("select pgque.create_queue($1, $2)", [name, withCancel]);
  await a.query('select pgque.subscribe($1, $1, \'{"from": "earliest", "mode": "shared"}\')', [name]);
  const { rows } = await a.query("select pgque.send($1, 't', 'x', $2) as id", [name, { dedupe_key: name }]);
  const byKey = await a.query("select consumer, state from pgque.cancel_by_key($1, $2)", [name, [name]]);
  expect(byKey.rows).toEqual([{ consumer: name, state: "cancelled" }]);
  const byId = await a.query("select consumer, state from pgque.cancel($1, $2, $1)", [name, [rows[0].id]]);
  expect(byId.rows).toEqual([{ consumer: name, state: "cancelled" }]);
});

test("what cannot be cancelled is refused, and says what to do", async () => {
  await makeQueue(a, ["c"]);
  await expect(a.query("select pgque.cancel('q', '{1}')")).rejects.toMatchObject({
    code: "PQ004",
    message: "queue 'q' was created without allow_cancel",
    hint: expect.stringContaining("Create a queue with allow_cancel"),
  });
  await expect(a.query("select pgque.change_queue('q', '{\"allow_cancel\": true}')")).rejects.toMatchObject({
    message: expect.stringContaining("queue 'q' was created without allow_cancel"),
  });
  await a.query("select pgque.create_queue('r', '{\"allow_cancel\": true}')");
  await expect(a.query("select pgque.cancel('r', null)")).rejects.toMatchObject({ code: "PQ004" });
  await expect(a.query("select pgque.cancel('r', '{1,null}')")).rejects.toMatchObject({ code: "PQ004" });
  await expect(a.query("select pgque.cancel('r', array(select generate_series(1, 1001)))")).rejects.toMatchObject({
    message: "expected message_ids to be an array of at most 1000 ids, got: 1001",
  });
  await expect(a.query("select pgque.cancel('r', '{1}', 'nobody')")).rejects.toMatchObject({ code: "PQ002" });
  await expect(a.query("select pgque.cancel_by_key('r', array[null]::text[])")).rejects.toMatchObject({
    code: "PQ004",
  });
  await a.query("begin isolation level repeatable read");
  await expect(a.query("select pgque.cancel('r', '{1}')")).rejects.toMatchObject({ code: "PQ005" });
});
