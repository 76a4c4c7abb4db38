import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
const warnings: string[] = [];
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
  warnings.length = 0;
  a.on("notice", ({ message }) => warnings.push(message ?? ""));
});
afterEach(() => database.drop());

const lag = "100 ms";
/** Maintains until the consumer is dropped: the second look is `lag` later than the first. */
async function maintainUntilDropped(): Promise<void> {
  await until(async () => {
    await maintain(a);
    return (await a.query("select from pgque.dropped_consumer")).rows.length > 0;
  }, "the consumer is dropped");
}

async function sentLongAgo(): Promise<void> {
  await until(async () => {
    const { rows } = await a.query(
      "select max(created_at) < clock_timestamp() - $1::interval as old from pgque.message_1",
      [lag],
    );
    return rows[0].old;
  }, "the messages are older than max_lag");
}

test("a consumer that lags is dropped if the queue says so, with a warning; what was kept for it alone is given up", async () => {
  await makeQueue(a, ["quick", "slow"], { max_lag: lag, max_lag_action: "drop" });
  await fillSegment(a);
  await drain(a, "quick");
  await maintainUntilDropped();
  for (let i = 0; i < 4; i += 1) await maintain(a);
  expect(warnings).toEqual([
    expect.stringMatching(/^consumer 'slow' of queue 'q' is dropped: it has not received what was sent at 20/),
  ]);
  expect((await ring(a)).bytes[0]).toBe(0);
  await expect(receive(a, "slow")).rejects.toMatchObject({
    code: "PQ002",
    message: expect.stringMatching(
      /^consumer not registered: slow was dropped at 20.*it had not received what was sent at 20/,
    ),
    hint: expect.stringContaining("max_lag"),
  });
  await send(a, "next");
  expect(await drain(a, "quick")).toEqual(["next"]);
});

/** Two hours go by for what this session sees of a table. */
const age = (client: pg.Client, table: string, condition = "true"): Promise<unknown> =>
  client.query(`update pgque.${table}_1 set created_at = created_at - interval '2 hours' where ${condition}`);

test("a consumer that is up to date is not dropped for a transaction that was open for longer than max_lag", async () => {
  await makeQueue(a, ["c"], { max_lag: "1 hour", max_lag_action: "drop" });
  const sender = await database.connect();
  for (const payload of ["one", "two", "three"]) {
    await sender.query("begin");
    await send(sender, payload);
    await age(sender, "message");
    await maintain(a);
    await age(a, "batch", "consumer_id = 0");
    await sender.query("commit");
    await maintain(a);
    await maintain(a);
    expect(await drain(a)).toEqual([payload]);
  }
  expect(warnings).toEqual([]);
});

test("of two looks max_lag apart both have to see the same message: who has caught up in between is not dropped", async () => {
  await makeQueue(a, ["slow", "late"], { max_lag: "1 hour", max_lag_action: "drop" });
  await send(a, "one", "two");
  await age(a, "message");
  await maintain(a);
  await drain(a, "late");
  await send(a, "three");
  for (const table of ["message", "batch"]) await age(a, table);
  await maintain(a);
  expect((await a.query("select name from pgque.dropped_consumer")).rows).toEqual([{ name: "slow" }]);
  expect(await drain(a, "late")).toEqual(["three"]);
});

test("looks are few, however often maintain is called", async () => {
  await makeQueue(a, ["slow"], { max_lag: "1 hour", max_lag_action: "drop" });
  await send(a, "one");
  await age(a, "message");
  for (let i = 0; i < 5; i += 1) await maintain(a);
  expect((await a.query("select from pgque.batch_1 where consumer_id = 0")).rowCount).toBe(1);
});

test("a dropped consumer may subscribe again", async () => {
  await makeQueue(a, ["slow"], { max_lag: lag, max_lag_action: "drop" });
  await send(a, "one");
  await maintainUntilDropped();
  await a.query("select pgque.subscribe('q', 'slow', '{\"mode\": \"shared\"}')");
  expect(await drain(a, "slow")).toEqual(["one"]);
  expect((await a.query("select from pgque.dropped_consumer")).rows).toEqual([]);
});

test("by default it is only warned of, once for each full segment, and loses nothing", async () => {
  await makeQueue(a, ["slow"], { max_lag: lag });
  const payloads = await fillSegment(a);
  await sentLongAgo();
  await maintain(a);
  await maintain(a);
  expect(warnings).toEqual([
    expect.stringMatching(/^consumer 'slow' of queue 'q' lags: it has not received what was sent at 20/),
  ]);
  expect(await drain(a, "slow")).toEqual(payloads);
});

test("a retry, a delayed message and an idle consumer are not a lag", async () => {
  await makeQueue(a, ["c"], { max_lag: lag, max_lag_action: "drop" });
  await send(a, "one");
  const { batch, ids } = await receive(a);
  await a.query(`select pgque.send('q', 't', 'delayed', '{"delay": 0.15}')`);
  await sentLongAgo();
  await a.query("select pgque.nack($1, $2::bigint[], '0 s')", [batch, ids]);
  await until(async () => {
    await maintain(a);
    const { rows } = await a.query("select count(*)::int as n from pgque.message_1");
    return rows[0].n === 3;
  }, "the delayed message is due");
  await maintain(a);
  expect(await drain(a)).toEqual(["one", "delayed"]);
  await sentLongAgo();
  await maintain(a);
  expect(warnings).toEqual([]);
});

test("options of a queue that exists are set one by one, those of PgQue's ticker do nothing", async () => {
  await makeQueue(a, ["c"]);
  const set = (param: string, value: string | null): Promise<unknown> =>
    a.query("select pgque.set_queue_config('q', $1, $2)", [param, value]);
  await set("max_lag", "1 day");
  await set("max_retries", "7");
  await set("payload_bytes_max", "3");
  await set("ticker_max_lag", "1 second");
  const read = async (): Promise<unknown> =>
    (await a.query("select max_lag::text, max_retries, payload_bytes_max from pgque.queue")).rows[0];
  expect(await read()).toEqual({ max_lag: "1 day", max_retries: 7, payload_bytes_max: 3 });
  await expect(send(a, "four")).rejects.toMatchObject({ code: "PQ004" });
  await set("max_lag", null);
  expect(await read()).toMatchObject({ max_lag: null });
  await expect(set("max_lags", "1")).rejects.toMatchObject({
    code: "PQ004",
    message: "unknown option of a queue: 'max_lags'",
  });
  await expect(set("max_retries", "many")).rejects.toMatchObject({ code: "PQ004" });
  await expect(set("max_retries", null)).rejects.toMatchObject({
    message: "expected max_retries to be an integer from 0 to 32000, got: null",
  });
});
