import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, ownServer, type TestDatabase } from "../../../test/support/database.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

const status = async (call: string, client = a): Promise<Record<string, unknown>[]> =>
  (await client.query(`select * from pgque.${call}`)).rows;

describe("consumer_status", () => {
  test("counts what can be received, for each consumer, across windows, pages and open transactions", async () => {
    await makeQueue(a, ["c", "d"]);
    await send(a, "1", "2", "3", "4", "5");
    await b.query("begin");
    await send(b, "open");
    const first = await receive(a, "c", 2);
    await send(a, "6");
    const [c, d] = await status("consumer_status('q')");
    expect(c).toMatchObject({ queue_name: "q", consumer: "c", depth: "4", in_flight: "2", open_batches: 1 });
    expect(d).toMatchObject({ consumer: "d", depth: "6", in_flight: "0", open_batches: 0, received_at: null });
    await b.query("commit");
    await a.query("select pgque.ack($1, $2)", [first.batch, [first.ids[0]]]);
    expect((await status("consumer_status('q')"))[0]).toMatchObject({ depth: "5", in_flight: "1", open_batches: 1 });
    await ack(a, first.batch);
    await drain(a);
    expect((await status("consumer_status('q')"))[0]).toMatchObject({
      depth: "0",
      oldest_at: null,
      in_flight: "0",
      open_batches: 0,
      received_at: expect.any(Date),
    });
  });

  test("says when the oldest message was sent, and counts what another consumer is to try again for that one alone", async () => {
    await makeQueue(a, ["c", "d"]);
    await send(a, "x");
    const { rows } = await a.query("select created_at from pgque.message_1");
    expect((await status("consumer_status('q')"))[0]).toMatchObject({ oldest_at: rows[0].created_at });
    const got = await receive(a, "c");
    await drain(a, "d");
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [got.batch, got.ids]);
    expect((await status("consumer_status()")).map(({ depth }) => depth)).toEqual(["1", "0"]);
  });

  test.each([false, true])(
    "reads what waits, not what is kept; while others have transactions open: %s",
    async (others) => {
      const rowsRead = async () => {
        const { rows } = await a.query(`
        select sum(pg_stat_get_xact_tuples_returned(m.oid)) + pgque.index_entries_read('pgque.message_1') as n
          from (select 'pgque.message_1'::regclass union all select inhrelid from pg_inherits where inhparent = 'pgque.message_1'::regclass) as m(oid)`);
        return Number(rows[0].n);
      };
      await makeQueue(a, ["c"]);
      await a.query("select pgque.send_batch('q', array(select n::text from generate_series(1, 20000) n))");
      const other = await database.connect();
      if (others) await other.query("begin; select pg_current_xact_id()");
      // the place is behind the messages once no transaction of the cluster, another test's say, is as old as theirs
      await until(async () => {
        await a.query("select pgque.seek('q', 'c', 'latest')");
        const { rows } = await a.query(
          "select pg_snapshot_xmin(prev) > (select max(txid::text::bigint)::text::xid8 from pgque.message_1) as is_behind from pgque.cursors(1)",
        );
        return rows[0].is_behind;
      }, "the place is behind the messages");
      // in a transaction: at its end the counters may be reported, and begin anew
      await a.query("begin");
      const before = await rowsRead();
      await a.query("select count(*) from pgque.message_1");
      const all = await rowsRead();
      expect(await status("consumer_status('q')")).toMatchObject([{ depth: "0" }]);
      expect(all - before).toBe(20_000);
      // that behind which the place lies
      expect((await rowsRead()) - all).toBeLessThanOrEqual(1);
      await a.query("rollback");
    },
  );
});

test("rates: what was sent since the current segment began, what was received in the last minute", async () => {
  await makeQueue(a, ["c", "d"]);
  await fillSegment(a);
  await receive(a, "c", 60);
  expect(await status("consumer_status()")).toMatchObject([{ received_per_second: 1 }, { received_per_second: 0 }]);
  const rate = async (): Promise<number> => Number((await status("queue_status()"))[0]?.["sent_per_second"]);
  const [first, later] = [await rate(), await rate()];
  // a hundred messages in what counts as a second at least
  expect(first).toBeGreaterThan(1);
  expect(first).toBeLessThanOrEqual(100);
  expect(later).toBeLessThanOrEqual(first);
  await maintain(a);
  expect(await rate()).toBe(0);
});

test("queue_status has segments, bytes, delayed messages and dead letters", async () => {
  await makeQueue(a, ["c"], { max_retries: 0 });
  await a.query("select pgque.create_queue('other')");
  await send(a, "bad");
  const got = await receive(a);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2)", [got.batch, got.ids]);
  await a.query(
    `select pgque.send('q', 't', 'later'::text, '{"delay": 60}'), pgque.send('q', 't', 'far'::text, '{"delay": "1 day"}')`,
  );
  const [other, q] = await status("queue_status()");
  expect(other).toMatchObject({ queue_name: "other", consumers: 0, delayed: "0", dead_letters: "0", bytes: "0" });
  expect(q).toMatchObject({
    queue_name: "q",
    consumers: 1,
    segments: 3,
    current_segment: 0,
    delayed: "2",
    dead_letters: "1",
    paused: false,
  });
  await a.query("select pgque.pause('q')");
  expect((await status("queue_status('q')"))[0]).toMatchObject({ paused: true });
  await a.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '2 min')");
  expect((await status("queue_status('q')"))[0]).toMatchObject({ delayed: "1" });
});

describe("segment_status", () => {
  const waits = async (client = a): Promise<unknown> => (await status("segment_status('q')", client))[0]?.["waits_for"];

  test("names who keeps a segment: nobody subscribed, a consumer that lags, one that has not settled", async () => {
    await makeQueue(a, []);
    await fillSegment(a);
    await maintain(a);
    expect((await ring(a)).current).toBe(1);
    expect(await waits()).toEqual(["no consumer has subscribed"]);
    await a.query(`select pgque.subscribe('q', 'slow one', '{"from": "earliest", "mode": "shared"}')`);
    expect(await waits()).toEqual(['consumer "slow one" has not received all of it']);
    const got = await receive(a, "slow one");
    expect(await waits()).toEqual(['consumer "slow one" has not settled all of it']);
    await ack(a, got.batch);
    expect(await waits()).toEqual([]);
    await maintain(a);
    const segments = await status("segment_status('q')");
    expect(segments[0]).toEqual({ segment: 0, is_current: false, bytes: "0", waits_for: null });
    const { current } = await ring(a);
    expect(segments.filter((segment) => segment["is_current"])).toMatchObject([{ segment: current, waits_for: null }]);
  });

  test("names the process that reads a segment, and the prepared transaction that has written to it", async () => {
    await using own = await ownServer();
    const [one, two, three] = [await own.connect(), await own.connect(), await own.connect()];
    await makeQueue(one, ["c"], { notify: false });
    await two.query("begin; lock table pgque.message_1_0 in access share mode");
    await three.query("begin");
    await send(three, "prepared");
    await three.query("prepare transaction 'a sender''s'");
    await fillSegment(one);
    await drain(one);
    await maintain(one);
    const pid = await backendPid(two);
    await until(
      async () => (await waits(one)) !== null && ((await waits(one)) as string[]).length === 2,
      "both are named",
    );
    expect(await waits(one)).toEqual([
      expect.stringMatching(new RegExp(`^process ${pid} \\(user postgres\\) holds a lock on it since `)),
      expect.stringMatching(/^prepared transaction 'a sender''s' holds a lock on it since /),
    ]);
    await two.query("commit");
    await three.query("commit prepared 'a sender''s'");
    expect(await waits(one)).toEqual(["consumer c has not received all of it"]);
  });
});

test("worker_status has the workers that are alive", async () => {
  await a.query("select pgque.heartbeat('gone', '1 ms'), pgque.heartbeat('w', '10 s'), pgque.heartbeat('w', '20 s')");
  await until(async () => (await status("worker_status()")).length === 1, "one is gone");
  expect(await status("worker_status()")).toMatchObject([{ worker: "w" }]);
});

test.each(["queue_status", "consumer_status", "segment_status"])(
  "%s of a queue that is not there says so",
  async (name) => {
    await expect(a.query(`select * from pgque.${name}('nowhere')`)).rejects.toMatchObject({
      code: "PQ001",
      message: "queue not found: nowhere",
    });
  },
);
