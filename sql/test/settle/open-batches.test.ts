import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";
import { buffersOf, buffersOfReceive } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
  await makeQueue(a, ["c"], { rotation_min_interval: "1 hour" });
});
afterEach(() => database.drop());

/** Receives and acks so many batches of one message. */
async function batches(count: number): Promise<void> {
  await send(a, ...Array.from({ length: count }, (_, i) => `${i}`));
  for (let i = 0; i < count; i += 1) await ack(a, (await receive(a, "c", 1)).batch);
}

async function openBatches(): Promise<string[]> {
  const { rows } = await a.query("select batch_id from pgque.open_batches(1)");
  return rows.map((row) => row.batch_id);
}

/** Rows of the batch log that a look for open batches reads. */
async function rowsRead(): Promise<number> {
  const { rows } = await a.query(
    `select count(*)::int as n
       from (select * from pgque.batch_1 order by batch_no desc limit 1) newest
       join pgque.batch_1 b on b.batch_no >= newest.settled_before or b.batch_no = any (newest.still_open)`,
  );
  return rows[0].n;
}

test("a batch that stays open is found, however much is received after it, without reading all of that", async () => {
  await send(a, "slow");
  const slow = await receive(a);
  await batches(500);
  expect(await openBatches()).toEqual([slow.batch]);
  expect(await rowsRead()).toBeLessThan(200);
  await ack(a, slow.batch);
  await batches(130);
  expect(await openBatches()).toEqual([]);
  expect(await rowsRead()).toBeLessThan(200);
});

test("more than a hundred open batches are found, too", async () => {
  await send(a, ...Array.from({ length: 250 }, (_, i) => `${i}`));
  const open: string[] = [];
  for (let i = 0; i < 250; i += 1) {
    const { batch } = await receive(a, "c", 1);
    if (i % 5 === 0) await ack(a, batch);
    else open.push(batch);
  }
  expect(await openBatches()).toEqual(open);
});

test("a receive that moves the line reads no more with three times as many open batches", async () => {
  const open = (count: number): Promise<unknown> =>
    a.query(
      `do $$ begin for i in 1 .. ${count} loop perform from pgque.receive_messages('q', 'c', max_messages => 1); end loop; end $$`,
    );
  const buffers = async (): Promise<number> => {
    const { rows } = await a.query(
      `explain (analyze, buffers, format json)
       select pgque.move_settled_watermark(1, b.consumer_id, 0, b.batch_no, (b.settled_before, b.still_open)::pgque.settled_watermark)
         from (select * from pgque.batch_1 order by batch_no desc limit 1) b`,
    );
    const plan = rows[0]["QUERY PLAN"][0].Plan;
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  };
  await a.query("select pgque.send_batch('q', array_fill('x'::text, array[3600]))");
  await open(1200);
  const few = await buffers();
  await open(2400);
  expect(await buffers()).toBeLessThan(1.5 * few);
  expect(await openBatches()).toHaveLength(3600);
});

test("an open batch is found after its cursor was carried over, and keeps its segment until it is settled", async () => {
  await a.query("update pgque.queue set rotation_min_interval = '0 s'");
  const payloads = await fillSegment(a);
  const slow = await receive(a, "c", 1);
  await drain(a);
  await batches(200);
  for (let i = 0; i < 4; i += 1) {
    await maintain(a);
    await fillSegment(a);
    await drain(a);
  }
  expect(await openBatches()).toEqual([slow.batch]);
  expect((await ring(a)).bytes[0]).toBeGreaterThan(16_384);
  await a.query("select pgque.nack($1, $2::bigint[], '0 s')", [slow.batch, slow.ids]);
  await ack(a, slow.batch);
  expect(await drain(a)).toEqual([payloads[0]]);
  for (let i = 0; i < 4; i += 1) await maintain(a);
  // empty, or in use again
  expect((await ring(a)).bytes[0]).toBeLessThanOrEqual(8192);
});

describe("150 open batches with 20,000 finished ones behind them", () => {
  const finished = (count: number): Promise<unknown> =>
    a.query(`
      do $$ begin for i in 1 .. ${count} loop
        perform pgque.ack(batch_id) from pgque.receive_messages('q', 'c', max_messages => 1);
      end loop; end $$`);
  const sendMany = (count: number): Promise<unknown> =>
    a.query("select pgque.send_batch('q', array_fill('x'::text, array[$1::int]))", [count]);
  /** Of receives that count what is in flight, under the cursor's lock. */
  const limited = async <T>(work: () => Promise<T>): Promise<T> => {
    await a.query("update pgque.consumer set max_in_flight = 1000");
    const result = await work();
    await a.query("update pgque.consumer set max_in_flight = null");
    return result;
  };
  /** Of the looks at open batches that maintenance, receives and who asks for the status make. */
  const buffers = async (): Promise<Record<string, number>> => {
    return {
      line: await buffersOf(
        a,
        `select pgque.move_settled_watermark(1, c.consumer_id, c.lane, c.batch_no, c.settled) from pgque.cursors(1) c`,
      ),
      recover: await buffersOf(a, "select pgque.recover(1)"),
      rest: await buffersOf(
        a,
        "select pgque.idle_until(1, array(select pgque.ring_segments(1)), pgque.consumer_positions(1))",
      ),
      segment: await buffersOf(a, "select pgque.segment_is_settled(1, 1)"),
      receive: await limited(async () => (await buffersOfReceive(a, 1)).buffers),
      status: await buffersOf(a, "select * from pgque.consumer_status('q')"),
    };
  };

  test("cost whoever looks for open ones no more than with 500 behind them", async () => {
    await sendMany(22_000);
    const open: string[] = [];
    for (let i = 0; i < 150; i += 1) {
      open.push((await receive(a, "c", 1, "1 day")).batch);
      await finished(1);
    }
    // the line moves every 64 receives
    await finished(8 * 64);
    const before = await buffers();
    await finished(304 * 64);
    const after = await buffers();
    // before PostgreSQL 17 each open batch is looked up by itself, and the indexes have one level more by now
    for (const [name, touched] of Object.entries(after))
      expect(touched, name).toBeLessThanOrEqual((before[name] ?? 0) + 4 * open.length);
    expect((await openBatches()).slice(0, 150)).toEqual(open);
    const { rows } = await a.query("select open_batches, in_flight::int, estimated from pgque.consumer_status('q')");
    // with those of the receives above
    expect(rows).toEqual([{ open_batches: 156, in_flight: 156, estimated: false }]);
  });

  test("are found after every segment was truncated that a line of theirs was in, and given back when their leases end", async () => {
    await a.query("update pgque.queue set rotation_min_interval = '0 s'");
    await sendMany(400);
    const open: string[] = [];
    for (let i = 0; i < 150; i += 1) open.push((await receive(a, "c", 1, "1 day")).batch);
    await drain(a);
    for (let i = 0; i < 12; i += 1) {
      await sendMany(200);
      await finished(200);
      for (let n = 0; n < 3; n += 1) await maintain(a);
    }
    expect(await openBatches()).toEqual(open);
    const lines = await a.query("select from pgque.batch_1 where consumer_id < 0 and segment <> 0");
    expect(lines.rowCount).toBeGreaterThan(0);
    await a.query("update pgque.batch_1 set lease_until = now() - interval '1 s' where id = any ($1::bigint[])", [
      open,
    ]);
    while (await openBatches().then(({ length }) => length > 0)) await maintain(a);
    expect(await drain(a)).toHaveLength(150);
  });
});
