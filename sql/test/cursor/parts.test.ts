import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, drain, fillRing, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let late: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, late] = [await database.connect(), await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

/** Receives and acks in pages of so many, until nothing is left. */
async function drainInPages(max: number, consumer = "c"): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const got = await receive(b, consumer, max);
    if (got.payloads.length === 0) return all;
    all.push(...got.payloads);
    await ack(b, got.batch);
  }
}

test.each([1, 7, 100, 230, 1000])(
  "a window over many segments is read in order in pages of %i, nothing twice",
  async (max) => {
    await makeQueue(a, ["c", "d"]);
    const sent = await fillRing(a, 9);
    expect((await ring(a)).bytes.length).toBeGreaterThan(8);
    expect(await drainInPages(max)).toEqual(sent);
  },
);

test("what expires in a window over many segments is counted, and given back", async () => {
  await makeQueue(a, ["c"], { allow_expiry: true });
  const sent = await fillRing(a, 6);
  const first = await receive(b, "c", 100);
  await ack(b, first.batch);
  await a.query("update pgque.message_1 set expires_at = '2020-01-01'");
  expect(await drain(b)).toEqual([]);
  const { rows } = await a.query("select expired::int, depth::int from pgque.consumer_status('q')");
  expect(rows).toEqual([{ expired: sent.length - 100, depth: 0 }]);
  for (let i = 0; i < 10; i += 1) await maintain(a);
  expect((await ring(a)).bytes.filter((bytes) => bytes > 0)).toHaveLength(1);
});

test("one that spans segments through transactions that were open while the pointer moved on", async () => {
  await makeQueue(a, ["c"]);
  await late.query("begin");
  await send(late, "late, in an early segment");
  const sent = await fillRing(a, 3);
  await send(late, "late, in a later segment");
  sent.push(...(await fillRing(a, 4)));
  await late.query("commit");
  sent.push(...(await fillRing(a, 3)));
  const got = await drainInPages(30);
  expect(got).toHaveLength(sent.length + 2);
  expect(new Set(got)).toEqual(new Set([...sent, "late, in an early segment", "late, in a later segment"]));
  expect(got.filter((payload) => !payload.startsWith("late"))).toEqual(sent);
});

test("what commits after the window was taken comes with the next one, also from segments that were looked into", async () => {
  await makeQueue(a, ["c"]);
  await late.query("begin");
  await send(late, "late");
  const sent = await fillRing(a, 8);
  const first = await receive(b, "c", 250);
  await ack(b, first.batch);
  const second = await receive(b, "c", 250);
  await ack(b, second.batch);
  await late.query("commit");
  await send(a, "after");
  const rest = await drainInPages(250);
  expect([...first.payloads, ...second.payloads, ...rest]).toEqual([...sent, "late", "after"]);
});

test("retries for one consumer are skipped by the other, through whole segments of them", async () => {
  await makeQueue(a, ["c", "d"]);
  const sent = await fillRing(a, 6);
  for (let round = 0; round < 2; round += 1) {
    const got = await receive(b, "d", 1000);
    await b.query("select pgque.nack($1, $2::bigint[], '0 s')", [got.batch, got.ids]);
    await maintain(a);
    await maintain(a);
  }
  await send(a, "last");
  expect(await drainInPages(50, "c")).toEqual([...sent, "last"]);
  expect(new Set(await drain(b, "d"))).toEqual(new Set([...sent, "last"]));
});

test("a receive that was compiled before the ring grew looks into all segments when a window lies in one it does not know", async () => {
  await makeQueue(a);
  const sent = await fillRing(a, 5);
  const got: string[] = [];
  got.push(...(await drainInPages(50)));
  const observer = await database.connect();
  const grower = await database.connect();
  // the cursor's lock, held before anybody receives
  await late.query("begin");
  await late.query("select pg_advisory_xact_lock(pgque.lock_key('cursor', 1, (select id from pgque.consumer)))");
  const { length: segments } = (await ring(a)).bytes;
  await grower.query("begin");
  await grower.query("select pgque.grow_ring(1, $1)", [segments]);
  const old = await blocked<{ batch_id: string; payload: string }>(
    observer,
    b,
    "select * from pgque.receive_messages('q', 'c', max_messages => 10)",
  );
  await grower.query("commit");
  await a.query("select setval('pgque.segment_pointer_1', pgque.pointer_to($1))", [segments]);
  sent.push(...(await fillSegment(a, "in the new segment")));
  for (let page = 0; page < 5; page += 1) got.push(...(await receive(late, "c", 10)).payloads);
  const { rows } = await late.query("select window_segments from pgque.batch_1 order by batch_no desc limit 1");
  expect(rows[0].window_segments).toContain(segments);
  await late.query("commit");
  const page = (await old.result).rows.map(({ payload }) => payload);
  expect(page).toHaveLength(10);
  got.push(...page, ...(await drain(a)));
  expect(got).toEqual(sent);
});

test("only a long window is looked for in all segments: none of a consumer that is up to date and receives just what it asks for", async () => {
  await makeQueue(a, ["c", "forgotten"]);
  await fillRing(a, 6);
  await drain(a);
  await a.query("set track_functions = 'all'");
  const looks = async (consumer: string, receives: number, sent: number): Promise<number> => {
    await a.query("begin");
    for (let n = 0; n < receives; n += 1) {
      if (sent > 0) await send(a, ...Array.from({ length: sent }, () => "x"));
      await ack(a, (await receive(a, consumer, 10)).batch);
    }
    const { rows } = await a.query(
      "select coalesce(sum(calls), 0)::int as calls from pg_stat_xact_user_functions where funcname = 'find_window_segments'",
    );
    await a.query("commit");
    return rows[0].calls;
  };
  for (let round = 0; round < 3; round += 1) {
    expect(await looks("c", 1, 10)).toBe(0);
    expect(await looks("c", 3, 0), "nothing is left").toBe(0);
  }
  expect(await looks("forgotten", 20, 0), "once, with the fifth page or the first of another segment").toBe(1);
});

test("a page that is just full knows that it is the last of its window, or that it is not", async () => {
  await makeQueue(a, ["c"]);
  const receivedAll = async (max: number, maxBytes: number | null = null): Promise<boolean> => {
    await a.query("select from pgque.receive_messages('q', 'c', max_messages => $1, max_bytes => $2)", [max, maxBytes]);
    return (await a.query("select exhausted from pgque.batch_1 order by batch_no desc limit 1")).rows[0].exhausted;
  };
  await send(a, "a", "b", "c", "d", "e", "f");
  expect(await receivedAll(2)).toBe(false);
  expect(await receivedAll(3)).toBe(false);
  expect(await receivedAll(1)).toBe(true);
  await send(a, "a", "b", "c", "d");
  expect(await receivedAll(3, 3), "the fourth byte is not within the page").toBe(false);
  expect(await receivedAll(2, 2)).toBe(true);
});
