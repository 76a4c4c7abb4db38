import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

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
       from (select * from pgque.batch_1 order by n desc limit 1) newest
       join pgque.batch_1 b on b.n >= newest.settled_before or b.n = any (newest.still_open)`,
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
       select pgque.move_settled_line(1, b.consumer_id, 0, b.n, (b.settled_before, b.still_open)::pgque.settled_line)
         from (select * from pgque.batch_1 order by n desc limit 1) b`,
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
