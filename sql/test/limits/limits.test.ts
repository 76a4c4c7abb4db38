import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  await makeQueue(a, []);
});
afterEach(() => database.drop());

const subscribe = (options: object, consumer = "c"): Promise<unknown> =>
  a.query("select pgque.subscribe('q', $1, $2)", [consumer, { mode: "shared", from: "earliest", ...options }]);
const set = (param: string, value: string | null): Promise<unknown> =>
  a.query("select pgque.set_consumer_config('q', 'c', $1, $2)", [param, value]);

test("no more than max_in_flight messages are in flight, in all workers together", async () => {
  await subscribe({ max_in_flight: 3 });
  await subscribe({}, "without");
  await send(a, "1", "2", "3", "4", "5");
  const first = await receive(a, "c", 2);
  expect((await receive(b, "c", 10)).payloads).toEqual(["3"]);
  expect((await receive(b, "c", 10)).payloads).toEqual([]);
  await a.query("select pgque.ack($1, $2::bigint[])", [first.batch, [first.ids[0]]]);
  expect((await receive(b, "c", 10)).payloads).toEqual(["4"]);
  expect((await receive(b, "without", 10)).payloads).toHaveLength(5);
  await set("max_in_flight", null);
  expect((await receive(b, "c", 10)).payloads).toEqual(["5"]);
});

test("a limit does not keep what is left of a batch from being handed out again, and a rest that waits is in nobody's hand", async () => {
  await a.query("select pgque.drop_queue('q', true)");
  await makeQueue(a, [], { partitions: 1 });
  await subscribe({ mode: "ordered", max_in_flight: 2, rate_limit: 4, rate_period: "1 day" });
  await send(a, "1", "2", "3");
  const got = await receive(a);
  expect(got.payloads).toEqual(["1", "2"]);
  await a.query("select pgque.settle($1, retry_ids => $2, retry_after => '{0 s,0 s}')", [got.batch, got.ids]);
  expect((await a.query("select in_flight::int from pgque.consumer_status('q')")).rows).toEqual([{ in_flight: 0 }]);
  const again = await receive(a, "c", 100, "1 ms");
  expect(again).toMatchObject({ payloads: ["1", "2"], attempts: [2, 2] });
  // nobody settles it, and it is all that may be in flight
  let third = await receive(b);
  await until(async () => {
    if (third.payloads.length === 0) third = await receive(b);
    return third.payloads.length > 0;
  }, "its lease has ended");
  expect(third).toMatchObject({ payloads: ["1", "2"], attempts: [3, 3] });
});

test("no more than max_in_flight_per_key messages of a key are in flight, and those of other lanes come", async () => {
  await a.query("select pgque.drop_queue('q', true)");
  await makeQueue(a, [], { partitions: 16 });
  await subscribe({ max_in_flight_per_key: 2 });
  const keys = ["a", "a", "a", "a", "b", "b", "b"];
  const { rows } = await a.query("select pgque.lane_of_key('a', 16) <> pgque.lane_of_key('b', 16) as differ");
  expect(rows).toEqual([{ differ: true }]);
  const payloads = keys.map((key, i) => `${key}${i}`);
  await a.query("select pgque.send_batch('q', 't', $1::text[], null, $2)", [payloads, { keys }]);
  const first = await receive(a, "c", 1);
  const [key = ""] = first.payloads[0] ?? "";
  const got = [first, await receive(b), await receive(b), await receive(b)];
  expect(got.flatMap(({ payloads }) => payloads).toSorted()).toEqual(["a0", "a1", "b4", "b5"]);
  expect((await receive(a)).payloads, "each has two").toEqual([]);
  await ack(a, first.batch);
  const next = await receive(b);
  expect(next.payloads).toEqual([key === "a" ? "a2" : "b6"]);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2::bigint[], retry_after => '0 s')", [
    next.batch,
    next.ids,
  ]);
  const { payloads: after } = await receive(b, "c", 1);
  expect(
    after.map((payload) => payload[0]),
    "a message that failed makes room",
  ).toEqual([key]);
  await set("max_in_flight_per_key", null);
  expect((await receive(a)).payloads.length + (await receive(a)).payloads.length).toBe(2);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("max_in_flight_per_key is for shared consumers of queues with partitions", async () => {
  const message = 'expected max_in_flight_per_key for a consumer with mode "shared", of a queue with partitions, alone';
  await expect(subscribe({ max_in_flight_per_key: 2 })).rejects.toMatchObject({ code: "PQ004", message });
  await a.query("select pgque.drop_queue('q', true)");
  await makeQueue(a, [], { partitions: 2 });
  await expect(subscribe({ max_in_flight_per_key: 2, mode: "ordered" })).rejects.toMatchObject({
    code: "PQ004",
    message,
  });
  await subscribe({});
  await expect(set("max_in_flight_per_key", "101")).rejects.toMatchObject({ code: "PQ004" });
});

test("no more than rate_limit messages are received at once, and as many again in each rate_period", async () => {
  await subscribe({ rate_limit: 4, rate_period: "400 ms" });
  await send(a, ...Array.from({ length: 20 }, (_, i) => `${i}`));
  const [from] = (await a.query("select clock_timestamp() as at")).rows;
  const got = [...(await receive(a, "c", 3)).payloads, ...(await receive(b, "c", 10)).payloads];
  expect(got.length).toBeGreaterThanOrEqual(4);
  await until(async () => {
    got.push(...(await receive(b, "c", 10)).payloads);
    return got.length >= 12;
  }, "eight more have come");
  const { rows } = await a.query(
    "select floor(extract(epoch from clock_timestamp() - $1::timestamptz) / 0.1)::int as steps",
    [from.at],
  );
  expect(got.length).toBeLessThanOrEqual(4 + rows[0].steps + 1);
  expect(got).toEqual(Array.from({ length: got.length }, (_, i) => `${i}`));
});

test("the rate is kept across rotation, which takes the batches away that it was used up by", async () => {
  await subscribe({ rate_limit: 100, rate_period: "1 hour" });
  await fillSegment(a);
  const got = await receive(a, "c", 1000);
  expect(got.payloads).toHaveLength(100);
  await ack(a, got.batch);
  await until(async () => {
    await maintain(a);
    const { current, bytes } = await ring(a);
    return current !== 0 && bytes[0] === 0;
  }, "the segment is truncated");
  await send(a, "more");
  expect((await receive(a)).payloads).toEqual([]);
  await set("rate_limit", null);
  expect((await receive(a)).payloads).toEqual(["more"]);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test.each(["subscribe", "set_consumer_config"])(
  "with a limit in flight, set by %s, what is settled wakes an idle worker: there is room",
  async (how) => {
    if (how === "subscribe") await subscribe({ max_in_flight: 3 });
    else {
      await subscribe({});
      await set("max_in_flight", "3");
    }
    let notified = 0;
    b.on("notification", () => (notified += 1));
    await b.query(`listen "pgque_q"`);
    await send(a, "1", "2", "3", "4", "5", "6", "7");
    await b.query("select pgque.raise_idle_flag('q')");
    const settled = [
      "ack($1)",
      "ack($1, $2::bigint[])",
      "nack(batch_id => $1, message_ids => $2::bigint[], retry_after => '1 hour')",
      "settle($1, retry_ids => $2::bigint[], retry_after => '{1 hour}')",
    ];
    for (const [i, call] of settled.entries()) {
      const got = await receive(a, "c", 1);
      await a.query(`select pgque.${call}`, call.includes("$2") ? [got.batch, got.ids] : [got.batch]);
      await b.query("select 1");
      expect(notified, call).toBe(i + 1);
    }
  },
);

test("an idle worker that a limit has kept something from is woken by maintenance", async () => {
  await subscribe({ rate_limit: 1, rate_period: "50 ms" });
  let notified = 0;
  b.on("notification", () => (notified += 1));
  await b.query(`listen "pgque_q"`);
  await send(a, "1", "2");
  expect((await receive(a)).payloads).toEqual(["1"]);
  await b.query("select pgque.raise_idle_flag('q')");
  await until(async () => {
    await maintain(a);
    await b.query("select 1");
    return notified > 0;
  }, "it is notified");
});

test("a paused consumer receives nothing, others go on; a paused queue delivers nothing to anybody; sends go on", async () => {
  await subscribe({});
  await subscribe({ mode: "exclusive" }, "stream");
  const call = async (text: string): Promise<number> => (await b.query(`select pgque.${text} as n`)).rows[0].n;
  await send(a, "1");
  expect([await call("pause('q', 'c')"), await call("pause('q', 'c')")]).toEqual([1, 0]);
  expect((await receive(a)).payloads).toEqual([]);
  const held = await receive(a, "stream");
  expect(held.payloads).toEqual(["1"]);
  expect(await call("resume('q', 'c')")).toBe(1);
  expect((await receive(a)).payloads).toEqual(["1"]);
  expect([await call("pause('q')"), await call("pause('q')")]).toEqual([1, 0]);
  await send(a, "2");
  expect((await receive(a)).payloads).toEqual([]);
  expect((await receive(a, "stream")).payloads).toEqual([]);
  expect(await ack(a, held.batch)).toBe(1);
  const { rows } = await a.query("select consumer, paused from pgque.consumer_status('q')");
  expect(rows).toEqual([
    { consumer: "c", paused: true },
    { consumer: "stream", paused: true },
  ]);
  expect([await call("resume('q')"), await call("resume('q')")]).toEqual([1, 0]);
  expect((await receive(a)).payloads).toEqual(["2"]);
  expect((await receive(a, "stream")).payloads).toEqual(["2"]);
});

test("a resumed queue wakes its idle workers", async () => {
  await subscribe({});
  let notified = 0;
  b.on("notification", () => (notified += 1));
  await b.query(`listen "pgque_q"`);
  await b.query("select pgque.raise_idle_flag('q')");
  await a.query("select pgque.pause('q')");
  await a.query("select pgque.resume('q')");
  await b.query("select 1");
  expect(notified).toBe(1);
});

test("purge throws away what a consumer has not received, its retries and open batches, and for the whole queue what is delayed", async () => {
  await subscribe({});
  await subscribe({}, "d");
  await send(a, "1", "2");
  const got = await receive(a);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [got.batch, got.ids]);
  await send(a, "3");
  const purge = async (...args: string[]): Promise<number> =>
    Number((await b.query(`select pgque.purge(${args.map((arg) => `'${arg}'`).join(", ")}) as n`)).rows[0].n);
  expect(await purge("q", "c")).toBe(3);
  expect(await drain(a)).toEqual([]);
  await a.query(
    `select pgque.send('q', 't', 'delayed', '{"delay": 0.01}'), pgque.send('q', 't', 'far', '{"delay": 7200}')`,
  );
  await send(a, "4");
  expect(await purge("q")).toBe(6);
  await send(a, "after");
  for (let i = 0; i < 5; i += 1) await maintain(a);
  expect(await drain(a)).toEqual(["after"]);
  expect(await drain(a, "d")).toEqual(["after"]);
  expect(await purge("q")).toBe(0);
});

test("purge of a queue that nobody has subscribed to empties it, unless somebody is just sending", async () => {
  await send(a, "1", "2");
  await b.query("begin");
  await send(b, "3");
  await expect(a.query("select pgque.purge('q')")).rejects.toMatchObject({
    code: "PQ004",
    message: "queue 'q' is in use",
  });
  await b.query("commit");
  expect((await a.query("select pgque.purge('q')::int as n")).rows).toEqual([{ n: 3 }]);
  await subscribe({});
  expect(await drain(a)).toEqual([]);
});

test.each([
  ["rate_limit", "0"],
  ["rate_limit", "many"],
  ["rate_limit", "2000001"],
  ["max_in_flight", "-1"],
  ["rate_period", "2 days"],
  ["rate_period", "0"],
  ["rate_period", null],
  ["on_failure", "explode"],
  ["colour", "red"],
])("set_consumer_config %s to %s is refused", async (param, value) => {
  await subscribe({ rate_period: 2 });
  await expect(set(param, value)).rejects.toMatchObject({ code: "PQ004" });
});

test("what an ordered consumer's lost lease or failure leaves waiting is in nobody's hands, and does not keep itself from being handed out", async () => {
  await a.query(`select pgque.create_queue('keys', '{"partitions": 16}')`);
  await a.query(
    `select pgque.subscribe('keys', 'c', '{"mode": "ordered", "from": "earliest", "max_in_flight": 1, "on_failure": "block"}')`,
  );
  await a.query(`select pgque.send('keys', 't', n::text, '{"key": "k"}') from generate_series(1, 2) as n`);
  const receiveOne = async (lease: string): Promise<{ batch_id: string; message_id: string; payload: string }[]> =>
    (await a.query("select * from pgque.receive_messages('keys', 'c', null, 10, $1)", [lease])).rows;
  const left = (await receiveOne("1 ms"))[0];
  expect(left?.payload).toBe("1");
  let again: typeof left;
  await until(async () => ([again] = await receiveOne("30 s")) && again !== undefined, "it is handed out again");
  expect(again?.payload).toBe("1");
  expect(await receiveOne("30 s")).toEqual([]);
  await a.query("select pgque.nack(batch_id => $1, message_ids => array[$2]::bigint[], retry_after => '10 ms')", [
    again?.batch_id,
    again?.message_id,
  ]);
  await until(async () => ([again] = await receiveOne("30 s")) && again !== undefined, "its time has come");
  expect(again?.payload).toBe("1");
});

test("the highest rate that a consumer may have is one that it can receive at", async () => {
  await subscribe({ rate_limit: 2_147_483_647, rate_period: "1 day" });
  await send(a, "1");
  expect((await receive(a)).payloads).toEqual(["1"]);
});

test("a queue that grows is paused when it has grown", async () => {
  await subscribe({});
  const observer = await database.connect();
  for (let i = 0; i < 3; i += 1) await fillSegment(a);
  await a.query("begin");
  await a.query("select pgque.grow_ring(1, 3)");
  expect((await ring(a)).bytes).toHaveLength(4);
  const paused = await blocked(observer, b, "select pgque.pause('q')");
  await a.query("commit");
  await paused.result;
  await b.query("select pgque.resume('q')");
  expect(await drain(a)).toHaveLength(300);
});
