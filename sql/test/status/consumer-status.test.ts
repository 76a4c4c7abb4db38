import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, fillSegment, maintain, makeQueue, receive } from "../support/queue.ts";
import { buffersOf } from "../support/statistics.ts";

// Producers steer by it: it costs the same whatever waits, and whatever was received.

let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

const status = async (): Promise<Record<string, unknown>> =>
  (await client.query("select * from pgque.consumer_status('q')")).rows[0];
const buffers = () => buffersOf(client, "select * from pgque.consumer_status('q')");
const sendMany = (messages: number, options = "{}") =>
  client.query("select pgque.send_batch('q', 'default', array_fill('x'::text, array[$1::int]), null, $2)", [
    messages,
    options,
  ]);
const work = async (batches: number, max = 1): Promise<void> => {
  for (let n = 0; n < batches; n += 1) await ack(client, (await receive(client, "c", max)).batch);
};

test("ten thousand messages are counted; of more the number is an estimate and says so", async () => {
  await makeQueue(client);
  await sendMany(10_000);
  expect(await status()).toMatchObject({ depth: "10000", estimated: false });
  await sendMany(30_000);
  expect(await status()).toMatchObject({ depth: "40000", estimated: true });
  await ack(client, (await receive(client, "c", 20_000)).batch);
  expect(await status()).toMatchObject({ depth: "20000", estimated: true });
  await ack(client, (await receive(client, "c", 12_345)).batch);
  expect(await status()).toMatchObject({ depth: "7655", estimated: false });
});

test("an estimate leaves out what is for another consumer, and adds up lanes", async () => {
  await makeQueue(client, ["c", "d"], { priorities: 4 });
  await sendMany(8_000, '{"priority": 1}');
  await sendMany(2_000, '{"priority": 3}');
  const got = await receive(client, "d", 10_000);
  // all of priority 1 comes again for d
  await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
    got.batch,
    got.ids.slice(0, 8_000),
  ]);
  const { depth, estimated } = await status();
  expect(estimated).toBe(true);
  expect(Number(depth)).toBeGreaterThan(9_000);
  expect(Number(depth)).toBeLessThan(20_000);
});

test("it touches the same buffers with a backlog ten times as long", async () => {
  await makeQueue(client);
  await sendMany(20_000);
  await status();
  const before = await buffers();
  await sendMany(180_000);
  expect(await buffers()).toBeLessThanOrEqual(1.2 * before);
});

test("it touches the same buffers after four times as many receives in a minute", async () => {
  await makeQueue(client);
  await sendMany(2_048);
  // so many that their indexes have two levels
  await work(512);
  const before = await buffers();
  await work(1_536);
  expect(await status()).toMatchObject({ depth: "0", in_flight: "0", open_batches: 0 });
  expect(await buffers()).toBeLessThanOrEqual(1.2 * before);
});

test("open batches are counted up to a thousand; of more their number is an estimate", async () => {
  await makeQueue(client);
  await sendMany(3_000);
  for (let n = 0; n < 900; n += 1) await receive(client, "c", 1);
  expect(await status()).toMatchObject({ in_flight: "900", open_batches: 900, estimated: false });
  for (let n = 0; n < 600; n += 1) await receive(client, "c", 2);
  const before = await buffers();
  const { in_flight: inFlight, open_batches: openBatches, estimated } = await status();
  expect({ openBatches, estimated }).toEqual({ openBatches: 1500, estimated: true });
  // 900 of one message and 100 of two were looked at
  expect(inFlight).toBe("1650");
  for (let n = 0; n < 900; n += 1) await receive(client, "c", 1);
  expect(await buffers()).toBeLessThanOrEqual(1.2 * before);
});

test("an open batch is seen behind all that have been finished since the watermark moved, in each of sixteen lanes", async () => {
  await client.query("select pgque.create_queue('q', '{\"partitions\": 16}')");
  await client.query(
    "select pgque.subscribe('q', 'c', '{\"mode\": \"ordered\"}'), pgque.subscribe('q', 'd', '{\"mode\": \"shared\"}')",
  );
  await sendMany(130, '{"key": "k"}');
  for (const consumer of ["c", "d"]) {
    for (let n = 0; n < 125; n += 1) await ack(client, (await receive(client, consumer, 1)).batch);
    await receive(client, consumer, 2);
  }
  const { rows } = await client.query(
    "select consumer, depth, in_flight, open_batches, estimated from pgque.consumer_status('q')",
  );
  const found = { depth: "3", in_flight: "2", open_batches: 1, estimated: false };
  expect(rows).toEqual([
    { consumer: "c", ...found },
    { consumer: "d", ...found },
  ]);
});

test("the rate is that of the last hundred receives, when a minute had more", async () => {
  await makeQueue(client);
  await sendMany(2_000);
  await work(99, 10);
  expect(await status()).toMatchObject({ received_per_second: 16.5 });
  await work(1, 10);
  expect(Number((await status())["received_per_second"])).toBeGreaterThan(17);
});

test("it counts in all segments", async () => {
  await makeQueue(client);
  await fillSegment(client);
  const inOne = await status();
  await maintain(client);
  await fillSegment(client);
  const got = await receive(client, "c", 150);
  expect(inOne).toMatchObject({ depth: "100", in_flight: "0" });
  expect(await status()).toMatchObject({ depth: "50", in_flight: "150", open_batches: 1 });
  await ack(client, got.batch);
  await ack(client, (await receive(client)).batch);
  while ((await maintain(client)) > 0);
  expect(await status()).toMatchObject({ depth: "0", in_flight: "0", open_batches: 0 });
});

test("of more queues than it keeps plans for it says the same", async () => {
  await makeQueue(client);
  await fillSegment(client);
  await receive(client, "c", 30);
  await client.query("select pgque.create_queue('other' || n) from generate_series(1, 50) n");
  const { rows } = await client.query("select * from pgque.consumer_status()");
  expect(rows).toEqual((await client.query("select * from pgque.consumer_status('q')")).rows);
  expect(rows).toMatchObject([{ depth: "70", in_flight: "30" }]);
});
