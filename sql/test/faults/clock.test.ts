import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

// The server's clock has stepped back: what is stored was written at times that it has not come to. test/services has the same with a real step.

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

const day = 86_400_000;
const value = async (expression: string): Promise<unknown> =>
  Object.values((await a.query(`select ${expression}`)).rows[0])[0];

/** Moves a pointer to where it stands, at a time so far ahead. */
const pointerAhead = (sequence: string, ms = day): Promise<unknown> =>
  a.query(`select setval($1, pg_sequence_last_value($1::regclass) + ($2::bigint << 10))`, [`pgque.${sequence}`, ms]);

describe("a pointer that was moved in the future", () => {
  test("does not keep a full segment from being left", async () => {
    await makeQueue(a, ["c"], { rotation_min_interval: "30 s" });
    await fillSegment(a);
    await pointerAhead("segment_pointer_1");
    await maintain(a);
    expect((await ring(a)).current).toBe(1);
    await fillSegment(a);
    await maintain(a);
    expect((await ring(a)).current, "and from then on the interval is kept").toBe(1);
  });

  test("does not keep the tables of heartbeats and of dedupe keys from taking turns", async () => {
    await makeQueue(a);
    await a.query("select pgque.heartbeat('w')");
    await a.query(`select pgque.send('q', 't', 'one', '{"dedupe_key": "k"}')`);
    await pointerAhead("heartbeat_pointer");
    await pointerAhead("dedupe_pointer");
    await maintain(a);
    expect(await value("pgque.pointer_segment(pg_sequence_last_value('pgque.heartbeat_pointer'))")).toBe(1);
    expect(await value("pgque.pointer_segment(pg_sequence_last_value('pgque.dedupe_pointer'))")).toBe(1);
  });

  test("does not keep a table of delayed messages from being collected", async () => {
    await makeQueue(a);
    await hurryDelayed(a);
    await a.query(
      `select pgque.send_batch('q', 't', array(select repeat('x', 500) from generate_series(1, 200)), null, '{"delay": 0.001}')`,
    );
    await pointerAhead("delayed_soon_pointer");
    let delivered = 0;
    while (delivered < 200) {
      await maintain(a);
      delivered += (await drain(a)).length;
    }
    await maintain(a);
    expect(await value("pgque.delayed_table('soon')")).toBe("delayed_soon_1");
  });
});

test("a segment whose lock could not be had is tried again, also when the time set for that lies far ahead", async () => {
  await makeQueue(a);
  const reader = await database.connect();
  await reader.query("begin");
  await reader.query("select from pgque.message_1_0");
  await a.query(
    "select setval('pgque.lock_attempts_1', (((extract(epoch from clock_timestamp()) * 1000)::bigint + $1) << 6) | 20)",
    [day],
  );
  expect(await value("pgque.lock_segment(1, 0)")).toBe(false);
  const aheadMs = await value(
    "(pg_sequence_last_value('pgque.lock_attempts_1') >> 6) - (extract(epoch from clock_timestamp()) * 1000)::bigint",
  );
  expect(Number(aheadMs)).toBeLessThanOrEqual(30_000);
  await reader.query("commit");
  expect(await value("pgque.lock_segment(1, 0)")).toBe(true);
});

test("a consumer with a rate limit goes on at its rate", async () => {
  await makeQueue(a, []);
  await a.query(
    `select pgque.subscribe('q', 'c', '{"mode": "shared", "from": "earliest", "rate_limit": 100, "rate_period": "1 hour"}')`,
  );
  await send(a, ...Array.from({ length: 300 }, (_, i) => `${i}`));
  expect((await receive(a)).ids).toHaveLength(100);
  await a.query("update pgque.batch_1 set rate_until = rate_until + interval '1 day'");
  expect((await receive(a)).ids, "one, to write the bucket's state anew").toHaveLength(1);
  expect((await receive(a)).ids).toHaveLength(0);
  await a.query("update pgque.batch_1 set rate_until = rate_until - interval '361 s'");
  const got = await receive(a);
  expect(got.ids).toHaveLength(10);
  expect(await ack(a, got.batch)).toBe(1);
});
