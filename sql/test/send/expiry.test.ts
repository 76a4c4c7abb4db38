import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { drain, maintain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  await makeQueue(a, ["c"], { allow_expiry: true, max_retries: 1 });
});
afterEach(() => database.drop());

const past = { expires_at: "2020-01-01T00:00:00Z" };
const sendWith = async (client: pg.Client, options: object, ...payloads: string[]): Promise<void> => {
  await client.query("select pgque.send_batch('q', 't', $1::text[], null, $2)", [payloads, options]);
};
const status = async (): Promise<unknown> =>
  (await a.query("select depth::int, expired::int, in_flight::int from pgque.consumer_status('q')")).rows[0];

test("what has expired is not delivered, and counted once; what has not is, in its order", async () => {
  await sendWith(a, {}, "1");
  await sendWith(a, past, "gone", "gone");
  await sendWith(a, { ttl: 3600 }, "2", "3");
  await sendWith(a, past, "gone");
  await sendWith(a, { ttl: "1 hour" }, "4");
  await sendWith(a, past, "gone");
  expect((await receive(a, "c", 2)).payloads).toEqual(["1", "2"]);
  expect(await status()).toMatchObject({ expired: 2, depth: 2 });
  expect((await receive(a, "c", 10)).payloads).toEqual(["3", "4"]);
  expect(await status()).toMatchObject({ expired: 4, depth: 0 });
  expect(await drain(a)).toEqual([]);
  await sendWith(a, past, "gone");
  expect(await drain(a)).toEqual([]);
  expect(await drain(a)).toEqual([]);
  expect(await status()).toEqual({ expired: 5, depth: 0, in_flight: 4 });
});

test("what commits late counts when it is passed over", async () => {
  await b.query("begin");
  await sendWith(b, past, "late and gone");
  await sendWith(b, {}, "late");
  await sendWith(b, past, "late and gone");
  await sendWith(a, {}, "1");
  expect(await drain(a)).toEqual(["1"]);
  await b.query("commit");
  await sendWith(a, past, "gone");
  await sendWith(a, {}, "2");
  expect(await drain(a)).toEqual(["late", "2"]);
  expect(await status()).toMatchObject({ expired: 3 });
});

test("a batch that is read again is the same, whatever has expired since", async () => {
  await sendWith(a, { ttl: 1 }, "1", "2");
  const got = await receive(a, "c", 10, "1 ms");
  expect(got.payloads).toEqual(["1", "2"]);
  await until(async () => {
    const { rows } = await a.query("select bool_and(expires_at < clock_timestamp()) as over from pgque.message_1");
    return rows[0].over;
  }, "they have expired");
  const { rows } = await a.query("select message_id from pgque.batch_messages($1)", [got.batch]);
  expect(rows.map((row) => row.message_id)).toEqual(got.ids);
  await until(async () => (await maintain(a)) > 0, "the batch is recovered");
  expect(await drain(a)).toEqual([]);
});

test("a delayed message, and one that is tried again, expire at their time", async () => {
  await sendWith(a, { delay: 0.5, ttl: 0.01 }, "delayed for too long");
  await sendWith(a, { delay: 0.5 }, "delayed");
  await sendWith(a, { ttl: 2 }, "tried again too late");
  const got = await receive(a);
  expect(got.payloads).toEqual(["tried again too late"]);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '2.1 s')", [got.batch, got.ids]);
  const all: string[] = [];
  await until(async () => {
    await maintain(a);
    all.push(...(await drain(a)));
    return ((await status()) as { expired: number }).expired === 2;
  }, "both have been passed over");
  expect(all).toEqual(["delayed"]);
  expect((await updatesAndDeletes(a)).filter(({ table }) => table !== "dead_letter")).toEqual([]);
});

test.each([
  [{ ttl: -1 }, "expected ttl to be longer than 0 and at most 100 years, got: -1"],
  [{ ttl: "soon" }, 'expected ttl to be longer than 0 and at most 100 years, got: "soon"'],
  [{ expires_at: "infinity" }, 'expected expires_at to be a time within 100 years, got: "infinity"'],
  [{ ...past, ttl: 1 }, "expected ttl or expires_at, got both"],
])("%j is refused", async (options, message) => {
  await expect(sendWith(a, options, "x")).rejects.toMatchObject({ code: "PQ004", message });
});

test("a queue whose messages do not expire says so, until it is told otherwise, for good", async () => {
  await a.query("select pgque.drop_queue('q', true)");
  await makeQueue(a);
  await a.query("select pgque.set_queue_config('q', 'allow_expiry', 'false')");
  await expect(sendWith(a, past, "x")).rejects.toMatchObject({
    code: "PQ004",
    message: "messages of queue 'q' do not expire",
  });
  await a.query("select pgque.set_queue_config('q', 'allow_expiry', 'true')");
  await sendWith(a, past, "x");
  expect(await drain(a)).toEqual([]);
  // what was delivered then could not be given back: a batch that is read again has nothing that had expired
  await expect(a.query("select pgque.set_queue_config('q', 'allow_expiry', 'false')")).rejects.toMatchObject({
    code: "PQ004",
    message: "allow_expiry of queue 'q' cannot be switched off",
  });
});
