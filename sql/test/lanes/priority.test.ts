import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, fillSegment, maintain, receive, ring } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";
import { makeLanes, sendWith, subscribe } from "./support.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

const make = async (options: Record<string, unknown> = {}, mode = "shared"): Promise<void> => {
  await makeLanes(a, { priorities: 10, ...options });
  await subscribe(a, { mode });
};

test("higher priorities come first, each in the order of the log; a batch has one priority, and says which", async () => {
  await make();
  await a.query("select pgque.send('q', 'none')");
  await sendWith(a, { priority: 3 }, "three", "three again");
  await sendWith(a, { priority: 9 }, "nine");
  const { rows } = await a.query("select payload, priority from pgque.receive_messages('q', 'c', max_messages => 100)");
  expect(rows).toEqual([{ payload: "nine", priority: 9 }]);
  expect((await receive(a)).payloads).toEqual(["three", "three again"]);
  await sendWith(a, { priority: 4 }, "four");
  expect((await receive(a)).payloads).toEqual(["four"]);
  expect((await receive(a)).payloads).toEqual(["none"]);
  expect((await receive(a)).payloads).toEqual([]);
});

test("a batch of messages is sent with one priority, delayed ones too", async () => {
  await make();
  await a.query("select pgque.send_batch('q', 't', array['low 1', 'low 2'])");
  await a.query(`select pgque.send_batch('q', 't', array['high 1', 'high 2'], null, '{"priority": 7}')`);
  await a.query(`select pgque.send_batch('q', 't', array['late'], null, '{"priority": 8, "delay": 0.01}')`);
  await until(async () => {
    await maintain(a);
    return (await a.query("select depth::int from pgque.consumer_status('q')")).rows[0].depth === 5;
  }, "the delayed one is delivered");
  expect(await drain(a)).toEqual(["late", "high 1", "high 2", "low 1", "low 2"]);
});

test("a retry, a message whose lease ended and a dead letter that is sent again keep their priority", async () => {
  await make({ max_retries: 1 });
  await sendWith(a, { priority: 5 }, "retried");
  let got = await receive(a);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [got.batch, got.ids]);
  await sendWith(a, { priority: 4 }, "lower");
  got = await receive(a, "c", 10, "1 ms");
  expect(got).toMatchObject({ payloads: ["retried"], attempts: [2] });
  await until(async () => {
    await maintain(a);
    return (await a.query("select pgque.dlq_replay_all('q') as sent")).rows[0].sent === 1;
  }, "its lease ends, it becomes a dead letter and is sent again");
  expect(await drain(a)).toEqual(["retried", "lower"]);
});

test("every so many batches the lowest priority comes first, if the queue says so", async () => {
  await make({ low_priority_every: 3 });
  await sendWith(a, { priority: 0 }, "starved 1", "starved 2");
  for (let i = 1; i <= 6; i += 1) await sendWith(a, { priority: 9 }, `high ${i}`);
  const order: string[] = [];
  for (let i = 0; i < 8; i += 1) order.push(...(await receive(a, "c", 1)).payloads);
  expect(order).toEqual(["high 1", "high 2", "high 3", "starved 1", "high 4", "high 5", "starved 2", "high 6"]);
});

test("… counted for each consumer, so that it comes to all of them when they take turns", async () => {
  await make({ low_priority_every: 2 });
  await subscribe(a, { mode: "shared" }, "d");
  for (const priority of [0, 9]) await sendWith(a, { priority }, ...Array<string>(10).fill(`${priority}`));
  const got: Record<string, string[]> = { c: [], d: [] };
  for (let i = 0; i < 6; i += 1)
    for (const consumer of ["c", "d"]) got[consumer]?.push(...(await receive(a, consumer, 1)).payloads);
  expect(got["d"]).toEqual(got["c"]);
  expect(got["d"]?.toSorted()).toEqual(["0", "0", "9", "9", "9", "9"]);
});

test("what commits late is found in its lane, and nothing comes twice from a lane that is read in pages", async () => {
  await make();
  await b.query("begin");
  await sendWith(b, { priority: 2 }, "late");
  await sendWith(a, { priority: 2 }, "1", "2", "3");
  await sendWith(a, { priority: 1 }, "4");
  expect((await receive(a, "c", 2)).payloads).toEqual(["1", "2"]);
  await b.query("commit");
  expect((await receive(a, "c", 2)).payloads).toEqual(["3"]);
  expect((await receive(a, "c", 2)).payloads).toEqual(["late"]);
  expect((await receive(a, "c", 2)).payloads).toEqual(["4"]);
  expect(await drain(a)).toEqual([]);
});

test("an exclusive consumer gets one batch at a time, of whatever priority, and the same until it is finished", async () => {
  await make({}, "exclusive");
  await sendWith(a, { priority: 1 }, "low");
  const low = await receive(a);
  await sendWith(a, { priority: 9 }, "high");
  expect(await receive(b)).toEqual(low);
  await ack(a, low.batch);
  expect((await receive(b)).payloads).toEqual(["high"]);
});

test("an idle poll of all lanes writes nothing and takes no transaction id", async () => {
  await make();
  await sendWith(a, { priority: 6 }, "x");
  await drain(a);
  await a.query("begin");
  expect((await receive(a)).payloads).toEqual([]);
  const { rows } = await a.query("select pg_current_xact_id_if_assigned() as txid");
  expect(rows).toEqual([{ txid: null }]);
  await a.query("commit");
});

test("segments rotate when every lane is received, and cursors of idle lanes are carried over", async () => {
  await make();
  const sent: string[] = [];
  const got: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    await sendWith(a, { priority: round }, `priority ${round}`);
    sent.push(`priority ${round}`, ...(await fillSegment(a, `round ${round}`)));
    if (round % 2 === 1) got.push(...(await drain(a)));
    await maintain(a);
    await maintain(a);
  }
  expect(got.toSorted()).toEqual(sent.toSorted());
  expect((await ring(a)).bytes.length).toBeLessThan(6);
  const { rows } = await a.query("select depth::int, in_flight::int from pgque.consumer_status('q')");
  expect(rows).toEqual([{ depth: 0, in_flight: 0 }]);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("what has expired is counted in the lane that it was passed over in, and in no other", async () => {
  await a.query(`select pgque.create_queue('short', '{"priorities": 10, "allow_expiry": true}')`);
  await a.query(`select pgque.subscribe('short', 'c', '{"mode": "shared", "from": "earliest"}')`);
  await a.query(`select pgque.send('short', 't', 'gone', '{"priority": 3, "expires_at": "2020-01-01T00:00:00Z"}')`);
  await a.query(`select pgque.send('short', 't', 'here', '{"priority": 1}')`);
  const { rows } = await a.query("select payload from pgque.receive_messages('short', 'c')");
  expect(rows).toEqual([{ payload: "here" }]);
  const { rows: status } = await a.query("select expired::int from pgque.consumer_status('short')");
  expect(status).toEqual([{ expired: 1 }]);
});
