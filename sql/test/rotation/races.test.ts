import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let c: pg.Client;
let observer: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b, c, observer] = [
    await database.connect(),
    await database.connect(),
    await database.connect(),
    await database.connect(),
  ];
});
afterEach(() => database.drop());

test("a truncation that waited looks again whether open batches hold messages of the segment: one is nacked", async () => {
  await makeQueue(a);
  await a.query("alter function pgque.lock_segment set lock_timeout = '20s'");
  await a.query("begin");
  await send(a, "late");
  await fillSegment(b);
  await maintain(b);
  await drain(b);
  await c.query("begin");
  expect((await receive(c)).payloads).toEqual([]);
  const truncation = await blocked(observer, b, "select pgque.truncate_segment(1, 0) as truncated");
  await a.query("commit");
  const got = await receive(c);
  expect(got.payloads).toEqual(["late"]);
  await c.query("commit");
  expect((await truncation.result).rows).toEqual([{ truncated: false }]);
  await c.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [got.batch, got.ids]);
  expect(await drain(b)).toEqual(["late"]);
});

test("… its lease ends", async () => {
  await makeQueue(a);
  await a.query("alter function pgque.lock_segment set lock_timeout = '20s'");
  await a.query("begin");
  await send(a, "late");
  await fillSegment(b);
  await maintain(b);
  await drain(b);
  await c.query("begin");
  expect((await receive(c)).payloads).toEqual([]);
  const truncation = await blocked(observer, b, "select pgque.truncate_segment(1, 0) as truncated");
  await a.query("commit");
  const got = await receive(c, "c", 10, "1 ms");
  expect(got.payloads).toEqual(["late"]);
  await c.query("commit");
  await truncation.result;
  await maintain(b);
  expect(await drain(b)).toEqual(["late"]);
});

test("a late nack of a batch that is just being recovered and truncated says 0", async () => {
  await makeQueue(a);
  await fillSegment(a);
  await maintain(a);
  const got = await receive(a, "c", 1000, "1 ms");
  expect((await ring(a)).current).toBe(1);
  await b.query("begin");
  await maintain(b);
  expect((await ring(b)).bytes[0]).toBe(0);
  const late = await blocked<{ n: number }>(observer, a, "select pgque.nack(batch_id => $1, message_ids => $2) as n", [
    got.batch,
    got.ids,
  ]);
  await b.query("commit");
  expect((await late.result).rows).toEqual([{ n: 0 }]);
});

test("an outcome that waited for a truncation is not written: the batch it is for is gone", async () => {
  await makeQueue(a);
  await fillSegment(a);
  const got = await receive(a);
  await maintain(a);
  await a.query("select pgque.ack($1)", [got.batch]);
  await b.query("begin");
  expect((await b.query("select pgque.truncate_segment(1, 0) as truncated")).rows).toEqual([{ truncated: true }]);
  // what it read of the batch before the truncation said that it was open
  const outcome = await blocked(observer, c, "select pgque.append_outcome($1, 1, true, '{}') as appended", [got.batch]);
  await b.query("commit");
  expect((await outcome.result).rows).toEqual([{ appended: false }]);
  expect((await a.query("select from pgque.outcome_1")).rowCount).toBe(0);
});

test("a rotation that waits for its lock and a receiver behind it do not wait for each other", async () => {
  await makeQueue(a, ["c", "d"]);
  await a.query("alter function pgque.lock_segment set lock_timeout = '20s'");
  await fillSegment(a);
  await maintain(a);
  await drain(a);
  await drain(a, "d");
  await c.query("begin");
  await receive(c, "d");
  const rotation = await blocked(observer, a, "select pgque.maintain('q')");
  const receiving = await blocked(observer, b, "select payload from pgque.receive('q', 'c')");
  await c.query("commit");
  await rotation.result;
  await receiving.result;
});
