import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let admin: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  [admin, observer] = [await database.connect(), await database.connect()];
  await makeQueue(a);
  await send(a, "1", "2");
});
afterEach(() => database.drop());

const drop = "select pgque.drop_queue('q', true) as dropped";

test("a queue is dropped when the receives under way are over, and they are not its victims", async () => {
  await a.query("begin");
  await receive(a, "c", 1);
  const second = await blocked<{ payload: string }>(
    observer,
    b,
    "select payload from pgque.receive_messages('q', 'c', max_messages => 1)",
  );
  const dropping = await blocked<{ dropped: number }>(observer, admin, drop);
  await a.query("commit");
  expect((await second.result).rows).toEqual([{ payload: "2" }]);
  expect((await dropping.result).rows).toEqual([{ dropped: 1 }]);
});

test("a queue is dropped when the acks under way are over", async () => {
  const { batch } = await receive(a);
  await a.query("begin");
  expect(await ack(a, batch)).toBe(1);
  const dropping = await blocked<{ dropped: number }>(observer, admin, drop);
  // the same batch again reads what the drop is going to take
  expect(await ack(a, batch)).toBe(0);
  await a.query("commit");
  expect((await dropping.result).rows).toEqual([{ dropped: 1 }]);
});
