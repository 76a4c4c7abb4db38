import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { backendPid, blocked } from "../../../test/support/interleave.ts";
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

test("a queue that somebody uses for longer than a second is not dropped, and its user is named", async () => {
  await a.query("set application_name = 'importer'; begin");
  await send(a, "3");
  const pid = await backendPid(a);
  const { rows } = await a.query("select current_user as name");
  const failed = await admin.query(drop).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: "PQ004",
    message: `queue 'q' is in use by process ${pid} (importer, user ${rows[0].name})`,
  });
  await a.query("commit");
  expect((await receive(a)).payloads).toEqual(["1", "2", "3"]);
});

test("while a drop waits for a sender, other queues are created, maintained and dropped", async () => {
  await b.query("select pgque.create_queue('other')");
  await b.query("select pgque.send('other', 't', 'later', '{\"delay\": 60}')");
  await a.query("begin");
  await send(a, "3");
  const dropping = await blocked(observer, admin, drop);
  await b.query("select pgque.create_queue('third')");
  expect((await b.query("select pgque.deliver_delayed('other') as n")).rows).toEqual([{ n: "1" }]);
  expect((await b.query("select pgque.drop_queue('third') as n")).rows).toEqual([{ n: 1 }]);
  await a.query("commit");
  expect((await dropping.result).rows).toEqual([{ dropped: 1 }]);
});

test.each([
  ["delivers what is delayed", "select pgque.deliver_delayed('q') as done"],
  ["creates a queue", "select pgque.create_queue('other') as done"],
])("a sender that then %s has no deadlock with the drop of its queue", async (_name, statement) => {
  await a.query("begin");
  await a.query("select pgque.send('q', 't', 'now')");
  const dropping = await blocked(observer, admin, drop);
  expect((await a.query(statement)).rows).toHaveLength(1);
  await a.query("commit");
  expect((await dropping.result).rows).toEqual([{ dropped: 1 }]);
});
