import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { drain, receive } from "../support/queue.ts";
import { makeLanes, sendWith, subscribe } from "./support.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

const setLanes = (client: pg.Client, lanes: number | string, option = "partitions"): Promise<pg.QueryResult> =>
  client.query("select pgque.set_queue_config('q', $1, $2)", [option, String(lanes)]);
const laneOf = async (key: string): Promise<number> =>
  (await a.query("select lane from pgque.message_1 where key = $1 order by seq desc limit 1", [key])).rows[0].lane;

test("keys are any text, and the lane of a key never changes: the hash is the schema's own", async () => {
  const { rows } = await a.query(
    "select array_agg(pgque.lane_of_key(k, 1024) order by n) as lanes from unnest(array['', 'order-42', 'Zürich', '订单', '''; drop table x; --']) with ordinality as u(k, n)",
  );
  expect(rows[0].lanes).toEqual([944, 1016, 593, 340, 414]);
});

test("lanes are added when every consumer is done with everything and nothing is delayed, never taken away", async () => {
  await makeLanes(a, { partitions: 2 });
  await subscribe(a, { mode: "ordered" });
  await sendWith(a, { key: "k" }, "waits");
  await expect(setLanes(a, 4)).rejects.toMatchObject({ code: "PQ004", message: "queue 'q' is not drained" });
  const got = await receive(a);
  await expect(setLanes(a, 4)).rejects.toThrow("is not drained");
  await a.query("select pgque.ack($1)", [got.batch]);
  await sendWith(a, { key: "k", delay: 3600 }, "delayed");
  await expect(setLanes(a, 4)).rejects.toThrow("is not drained");
  await expect(setLanes(a, 1)).rejects.toThrow("expected partitions of queue 'q' to be 2 or more, got: 1");
  await expect(setLanes(a, "many")).rejects.toThrow(
    'expected partitions to be an integer from 1 to 1024, or null, got: "many"',
  );
  await expect(setLanes(a, 10, "priorities")).rejects.toThrow("queue 'q' was created without priorities");
});

test("what is sent to a lane that was added is received, by those who had subscribed before", async () => {
  await makeLanes(a, { partitions: 2 });
  await subscribe(a, { mode: "ordered" });
  const keys = Array.from({ length: 50 }, (_, i) => `key ${i}`);
  for (const key of keys) await sendWith(a, { key }, key);
  await drain(a);
  await setLanes(b, 64);
  for (const key of keys) await sendWith(a, { key }, key);
  expect(Math.max(...(await Promise.all(keys.map(laneOf))))).toBeGreaterThan(2);
  expect((await drain(a)).toSorted()).toEqual(keys.toSorted());
});

test("priorities can be added at any time", async () => {
  await makeLanes(a, { priorities: 2 });
  await subscribe(a, { mode: "shared" });
  await sendWith(a, { priority: 1 }, "one");
  await setLanes(b, 3, "priorities");
  await sendWith(a, { priority: 2 }, "two");
  expect(await drain(a)).toEqual(["two", "one"]);
});

test("a sender that waited while lanes were added uses their new number, so that the order of its key is kept", async () => {
  await makeLanes(a, { partitions: 2 });
  await subscribe(a, { mode: "ordered" });
  const { rows } = await a.query(
    "select 'key ' || n as key, pgque.lane_of_key('key ' || n, 64) as lane from generate_series(1, 100) as n where pgque.lane_of_key('key ' || n, 64) > 2 limit 1",
  );
  const [{ key, lane }] = rows;
  await sendWith(b, { key }, "before");
  await drain(b);
  await a.query("begin");
  await setLanes(a, 64);
  const sender = await blocked(observer, b, "select pgque.send('q', 't', 'during', $1)", [{ key }]);
  await a.query("commit");
  await sender.result;
  expect(await laneOf(key)).toBe(lane);
  await sendWith(b, { key }, "after");
  expect(await drain(a)).toEqual(["during", "after"]);
});

test("lanes are added when nobody is just subscribing: every consumer has a cursor in each", async () => {
  await makeLanes(a, { priorities: 2 });
  await b.query("begin");
  await subscribe(b, { mode: "shared" });
  const added = await blocked(observer, a, "select pgque.set_queue_config('q', 'priorities', '4')");
  await b.query("commit");
  await added.result;
  await sendWith(a, { priority: 3 }, "three");
  expect(await drain(a)).toEqual(["three"]);
});

test("a delayed message whose sender had not committed when lanes were added comes in the lane that its key has then", async () => {
  await makeLanes(a, { partitions: 2 });
  await subscribe(a, { mode: "ordered" });
  const { rows } = await a.query(
    "select 'key ' || n as key from generate_series(1, 100) as n where pgque.lane_of_key('key ' || n, 64) > 2 limit 1",
  );
  const [{ key }] = rows;
  await b.query("begin");
  await sendWith(b, { key, delay: 0.5 }, "delayed");
  await setLanes(a, 64);
  await b.query("commit");
  await until(async () => {
    await a.query("select pgque.maintain()");
    return (await a.query("select from pgque.message_1")).rowCount === 1;
  }, "it is delivered");
  const delivered = await laneOf(key);
  await sendWith(a, { key }, "now");
  expect(await laneOf(key)).toBe(delivered);
});

test("a lane that others' retries fill is looked into, so that its cursor can be moved past them; what is read is counted", async () => {
  await makeLanes(a, { priorities: 2 });
  for (const consumer of ["c", "d"]) await subscribe(a, { mode: "shared" }, consumer);
  await a.query("select pgque.send_batch('q', array_fill('x'::text, array[3000]))");
  await drain(a, "d");
  const got = await receive(a, "c", 10_000);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [got.batch, got.ids]);
  await a.query("begin");
  const read = async (): Promise<number> =>
    Number((await a.query("select pgque.index_entries_read('pgque.message_1') as n")).rows[0].n);
  const before = await read();
  expect((await receive(a, "d")).payloads).toEqual([]);
  // a thousand by the look for lanes, and all by a receive from that lane
  expect((await read()) - before).toBeGreaterThanOrEqual(4000);
  await a.query("commit");
});

test("the round of the lanes is each consumer's own: of two that take turns neither is kept from a lane", async () => {
  await makeLanes(a, { partitions: 2 });
  for (const consumer of ["c", "d"]) await subscribe(a, { mode: "shared" }, consumer);
  for (let i = 0; i < 40; i += 1) await sendWith(a, { key: `key ${i}` }, "x");
  for (let i = 0; i < 4; i += 1) for (const consumer of ["c", "d"]) await receive(a, consumer, 1);
  const { rows } = await a.query(
    `select c.name, array_agg(b.lane order by b.id >> 36) as lanes
       from pgque.batch_1 b join pgque.consumer c on c.id = b.consumer_id
      where b.id is not null group by c.name order by c.name`,
  );
  expect(rows).toEqual([
    { name: "c", lanes: [0, 1, 0, 1] },
    { name: "d", lanes: [0, 1, 0, 1] },
  ]);
});
