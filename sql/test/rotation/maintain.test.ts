import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
const queues = ["one", "two", "it's"];
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  for (const queue of queues) await drainedQueue(queue);
});
afterEach(() => database.drop());

/** A queue whose current segment is full and drained. */
async function drainedQueue(queue: string): Promise<void> {
  await a.query("select pgque.create_queue($1, $2)", [queue, { rotation_bytes: 8192, rotation_min_interval: "0 s" }]);
  await a.query("select pgque.subscribe($1, 'c')", [queue]);
  await a.query("select pgque.send_batch($1, array_fill(repeat('x', 100), array[100]))", [queue]);
  const { rows } = await a.query("select batch_id from pgque.receive($1, 'c') limit 1", [queue]);
  await a.query("select pgque.ack($1)", [rows[0].batch_id]);
}

async function emptySegments(): Promise<number> {
  const { rows } = await a.query(
    "select sum((pgque.segment_bytes(q.id, 0) = 0)::int)::int as empty from pgque.queue q",
  );
  return rows[0].empty;
}

test("one transaction truncates one segment at most: its lock is held until the transaction ends", async () => {
  for (let round = 1; round <= queues.length; round += 1) {
    await a.query("begin");
    await a.query("select pgque.maintain()");
    const { rows } = await b.query(
      "select count(distinct relation)::int as locked from pg_locks where mode = 'AccessExclusiveLock' and relation::regclass::text ~ '^pgque.message_._.$'",
    );
    expect(rows).toEqual([{ locked: 1 }]);
    await a.query("commit");
    expect(await emptySegments()).toBe(round);
  }
});

test("one transaction grows one ring at most: its receivers wait until the transaction ends", async () => {
  const segments = async (): Promise<number[]> =>
    (await a.query("select array_agg(pgque.segment_count(id)) as counts from pgque.queue")).rows[0].counts;
  await until(async () => {
    // all fill their segments together, and nobody receives
    for (const queue of queues)
      await a.query("select pgque.send_batch($1, array_fill(repeat('x', 100), array[100]))", [queue]);
    await a.query("begin");
    await a.query("select pgque.maintain()");
    const { rows } = await b.query(
      "select distinct relation from pg_locks where mode = 'ExclusiveLock' and relation::regclass::text ~ '^pgque.batch_.$'",
    );
    await a.query("commit");
    expect(rows.length).toBeLessThanOrEqual(1);
    return (await segments()).every((count) => count > 3);
  }, "every ring has grown");
});

test("one transaction looks at so many queues at most: it keeps locks of each, and the server has room for so many", async () => {
  await a.query(
    "create or replace function pgque.maintained_at_once_max() returns int language sql immutable return 2",
  );
  await a.query("call pgque.maintain_all()");
  const seen = new Set<string>();
  await until(async () => {
    // a queue that rests is not looked at
    for (const queue of queues) await a.query("select pgque.send($1, 'x')", [queue]);
    await a.query("begin");
    await a.query("select pgque.maintain()");
    const { rows } = await a.query(
      `select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_backend_pid() and c.relname ~ '^batch_[0-9]+$'`,
    );
    await a.query("commit");
    expect(rows).toHaveLength(2);
    for (const { name } of rows) seen.add(name);
    return seen.size === queues.length;
  }, "every queue has had its turn");
});

test("one transaction asks so many queues at most whether they rest, for that takes locks, too", async () => {
  await a.query("create or replace function pgque.asked_at_once_max() returns int language sql immutable return 2");
  await a.query("call pgque.maintain_all()");
  expect(await emptySegments(), "in slices, all of them").toBe(queues.length);
  const seen = new Set<string>();
  await until(async () => {
    await a.query("begin");
    await a.query("select pgque.maintain()");
    const { rows } = await a.query(
      `select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_backend_pid() and c.relname ~ '^idle_[0-9]+$'`,
    );
    await a.query("commit");
    expect(rows).toHaveLength(2);
    for (const { name } of rows) seen.add(name);
    return seen.size === queues.length;
  }, "every queue has had its turn");
});

test("maintain_all maintains every queue, each in a transaction of its own", async () => {
  await a.query("call pgque.maintain_all()");
  expect(await emptySegments()).toBe(queues.length);
  await a.query("begin");
  await expect(a.query("call pgque.maintain_all()")).rejects.toMatchObject({ code: "2D000" });
});

test("a truncation of heartbeats is the last thing done, too: living workers wait for its lock", async () => {
  await a.query("call pgque.maintain_all()");
  await a.query(
    "insert into pgque.heartbeat (segment, worker, alive_until) values (1, 'gone', clock_timestamp() - interval '1 hour')",
  );
  await a.query(
    "select setval('pgque.heartbeat_pointer', ((extract(epoch from clock_timestamp()) - 660) * 1000)::bigint << 10)",
  );
  await drainedQueue("four");
  const beats = async (): Promise<number | null> => (await a.query("select from pgque.heartbeat")).rowCount;
  const current = async (): Promise<number> =>
    (await a.query("select pgque.pointer_segment(pg_sequence_last_value('pgque.segment_pointer_4')) as n")).rows[0].n;
  await a.query("select pgque.maintain('four')");
  expect([await current(), await beats()], "a segment is truncated, and holds a lock").toEqual([1, 1]);
  await a.query("select pgque.maintain('four')");
  expect(await beats()).toBe(0);
});
