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

// one transaction, so that no call comes between: what waited for the first queue goes on when the second one is there
const replace = `
  begin;
  select pgque.drop_queue('q', true), pgque.create_queue('other');
  select pgque.subscribe('other', 'c', '{"mode": "shared"}'), pgque.send('other', 'foreign')`;

const waiting: [what: string, call: string][] = [
  ["receive", "select payload from pgque.receive_messages('q', 'c')"],
  ["send", "select pgque.send('q', 'mine')"],
  ["send_batch", "select pgque.send_batch('q', '{mine}'::text[])"],
  ["seek", "select pgque.seek('q', 'c', 'earliest')"],
  ["purge", "select pgque.purge('q')"],
];

test.each(waiting)(
  "a %s that waits while its queue is replaced by another fails, and leaves that alone",
  async (_, call) => {
    await admin.query(replace);
    const waited = await blocked(observer, b, call);
    await admin.query("commit");
    await expect(waited.result).rejects.toMatchObject({ code: expect.stringMatching(/^(42P01|XX000|PQ001|PQ002)$/) });
    const { rows } = await a.query("select payload from pgque.receive_messages('other', 'c')");
    expect(rows).toEqual([{ payload: "foreign" }]);
  },
);

test("a batch of a queue that was dropped settles nothing of the queue that was created next", async () => {
  const { batch } = await receive(a);
  await admin.query(`${replace}; commit`);
  await a.query("select from pgque.receive_messages('other', 'c')");
  expect(await ack(a, batch)).toBe(0);
  const { rows } = await a.query("select in_flight from pgque.consumer_status('other')");
  expect(rows).toEqual([{ in_flight: "1" }]);
});

const numberOf = async (name: string): Promise<number> => {
  await a.query("select pgque.create_queue($1)", [name]);
  return (await a.query("select id from pgque.queue where name = $1", [name])).rows[0].id;
};

test("a number is used again after all others, and those in use are passed over", async () => {
  expect([await numberOf("two"), await numberOf("three")]).toEqual([2, 3]);
  await a.query("select pgque.drop_queue('two')");
  expect(await numberOf("four")).toBe(4);
  await a.query("select setval('pgque.queue_number', 16382)");
  expect([await numberOf("last"), await numberOf("again"), await numberOf("next")]).toEqual([16383, 2, 5]);
});

test("with all numbers in use no queue is created", async () => {
  await a.query(
    "insert into pgque.queue (id, name, migration) select n, n::text, 0 from generate_series(2, 16383) as n",
  );
  await expect(numberOf("one more")).rejects.toMatchObject({
    code: "PQ004",
    message: "expected at most 16383 queues in one schema",
  });
});
