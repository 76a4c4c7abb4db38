import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

/** Fills segment 0, moves the pointer to 1, and drains everything: 0 may now be truncated. */
async function drainedSegment(client: pg.Client): Promise<void> {
  await fillSegment(client);
  await maintain(client);
  await drain(client);
}

describe("a drained segment", () => {
  test("is truncated, and the ring goes round without growing", async () => {
    await makeQueue(a);
    const sent: string[] = [];
    const got: string[] = [];
    for (let round = 0; round < 12; round++) {
      sent.push(...(await fillSegment(a, `round ${round}`)));
      got.push(...(await drain(a)));
      await maintain(a);
    }
    got.push(...(await drain(a)));
    expect(got).toEqual(sent);
    const { bytes } = await ring(a);
    expect(bytes).toHaveLength(3);
    expect(bytes.filter((size) => size === 0).length).toBeGreaterThanOrEqual(1);
  });

  test("gives back TOASTed payloads too", async () => {
    await makeQueue(a);
    const big = Array.from({ length: 50_000 }, (_, i) => (i * 7919).toString(36)).join("");
    await send(a, big);
    expect((await ring(a)).bytes[0]).toBeGreaterThan(100_000);
    await maintain(a);
    expect(await drain(a)).toEqual([big]);
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBe(0);
  });

  test("is kept while a consumer has not received all of it", async () => {
    await makeQueue(a, ["c", "slow"]);
    await drainedSegment(a);
    await receive(a, "slow", 50);
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBeGreaterThan(0);
    await drain(a, "slow");
    await maintain(a);
    expect((await ring(a)).bytes[0], "its messages are in an open batch").toBeGreaterThan(0);
    const { rows } = await a.query("select batch_id from pgque.open_batches(1)");
    await ack(a, rows[0].batch_id);
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBe(0);
  });

  test("is kept while nobody has subscribed", async () => {
    await makeQueue(a, []);
    await fillSegment(a);
    await maintain(a);
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBeGreaterThan(0);
    await a.query(`select pgque.subscribe('q', 'first', '{"mode": "shared"}')`);
    expect(await drain(a, "first")).toHaveLength(100);
  });

  test("is kept while its batch is open, and its messages come back from there when the lease ends", async () => {
    await makeQueue(a);
    const sent = await fillSegment(a);
    const got = await receive(a, "c", 1000, "1 ms");
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBeGreaterThan(0);
    await maintain(a);
    const again = await receive(a);
    expect(again.payloads).toEqual(sent);
    expect(new Set(again.attempts)).toEqual(new Set([2]));
    expect(again.ids).toEqual(got.ids);
    expect(await ack(a, got.batch), "the lease is gone").toBe(0);
  });
});

describe("the insert pointer", () => {
  test("never moves to a segment whose truncation has not committed: senders would run into its lock", async () => {
    await makeQueue(a);
    await drainedSegment(a);
    await a.query("begin");
    await maintain(a);
    expect((await ring(a)).bytes[0], "truncated in this transaction").toBe(0);
    // segment 1 is full as well: the next step has to choose between 0 and 2, and then finds none
    for (let step = 0; step < 3; step++) {
      await fillSegment(b, `step ${step}`);
      await maintain(a);
      expect((await ring(a)).current, "not the one that is being truncated").not.toBe(0);
    }
    await a.query("commit");
    expect(await drain(b)).toHaveLength(300);
  });

  test("never moves to a segment whose creation has not committed", async () => {
    await makeQueue(a);
    for (let segment = 0; segment < 3; segment++) {
      await fillSegment(b, `segment ${segment}`);
      if (segment < 2) await maintain(b);
    }
    // as much as in all others together
    await fillSegment(b);
    await fillSegment(b);
    await a.query("begin");
    await maintain(a);
    expect((await ring(a)).bytes, "grown in this transaction").toHaveLength(4);
    await maintain(a);
    expect((await ring(a)).current).toBe(2);
    await send(b, "while the ring grows");
    await a.query("commit");
    await maintain(a);
    expect((await ring(a)).current).toBe(3);
    await send(b, "afterwards");
    expect(await drain(b)).toHaveLength(502);
  });

  test("may move while a sender is at work: what it inserts into the old segment is received", async () => {
    await makeQueue(a);
    await a.query("begin");
    await send(a, "late");
    await fillSegment(b);
    await maintain(b);
    expect((await ring(b)).current).toBe(1);
    await drain(b);
    await maintain(b);
    expect((await ring(b)).bytes[0], "an insert into it is under way").toBeGreaterThan(0);
    await a.query("commit");
    expect(await drain(b)).toEqual(["late"]);
    await maintain(b);
    expect((await ring(b)).bytes[0]).toBe(0);
  });

  test("stays where it is while the queue rests, so that an idle queue costs nothing", async () => {
    await makeQueue(a);
    await drainedSegment(a);
    while ((await maintain(a)) > 0);
    const before = await ring(a);
    for (let i = 0; i < 5; i++) expect(await maintain(a)).toBe(0);
    expect(await ring(a)).toEqual(before);
  });

  test("does not move within rotation_min_interval of the last time", async () => {
    await makeQueue(a, ["c"], { rotation_min_interval: "1 hour" });
    await fillSegment(a);
    await maintain(a);
    expect((await ring(a)).current).toBe(0);
  });
});

describe("a truncation", () => {
  test("carries the cursors over: nothing comes twice and nothing is missed", async () => {
    await makeQueue(a, ["c", "d"]);
    await drainedSegment(a);
    await drain(a, "d");
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBe(0);
    await send(a, "after");
    expect(await drain(a)).toEqual(["after"]);
    expect(await drain(a, "d")).toEqual(["after"]);
  });

  test("leaves alone what is not due yet", async () => {
    await makeQueue(a);
    const sent = await fillSegment(a);
    const got = await receive(a);
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '1 day')", [
      got.batch,
      got.ids.slice(0, 10),
    ]);
    await ack(a, got.batch);
    await maintain(a);
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBe(0);
    const { rows } = await a.query("select payload from pgque.delayed_later_0 order by seq");
    expect(rows.map((row) => row.payload)).toEqual(sent.slice(0, 10));
  });

  test("waits for a consumer that is just subscribing and may want what is in it", async () => {
    await makeQueue(a);
    await drainedSegment(a);
    await b.query("begin");
    await b.query(`select pgque.subscribe('q', 'replay', '{"from": "earliest", "mode": "shared"}')`);
    await maintain(a);
    expect((await ring(a)).bytes[0], "b's transaction is open").toBeGreaterThan(0);
    await b.query("commit");
    await maintain(a);
    expect((await ring(a)).bytes[0], "replay has not received it").toBeGreaterThan(0);
    expect(await drain(b, "replay")).toHaveLength(100);
  });

  test("does not take place while a receive is under way", async () => {
    await makeQueue(a);
    await drainedSegment(a);
    await b.query("begin");
    await receive(b);
    await maintain(a);
    expect((await ring(a)).bytes[0]).toBeGreaterThan(0);
    await b.query("commit");
  });

  test("looks again once it has its lock: an insert may have committed while it waited", async () => {
    await makeQueue(a);
    // so long that the interleaving does not depend on 20 ms
    await a.query("alter function pgque.lock_segment set lock_timeout = '20s'");
    await a.query("begin");
    await send(a, "late");
    await fillSegment(b);
    await maintain(b);
    await drain(b);
    await b.query("begin");
    const truncation = await blocked(observer, b, "select pgque.truncate_segment(1, 0) as truncated");
    await a.query("commit");
    expect((await truncation.result).rows).toEqual([{ truncated: false }]);
    // and keeps nobody waiting until its transaction ends
    const { rows } = await b.query(
      "select from pg_locks where pid = pg_backend_pid() and mode = 'AccessExclusiveLock' and locktype = 'relation'",
    );
    expect(rows).toEqual([]);
    await b.query("commit");
    expect(await drain(b)).toEqual(["late"]);
  });

  test("leaves the caller's lock_timeout alone", async () => {
    await makeQueue(a);
    await a.query("set lock_timeout = '7s'");
    await drainedSegment(a);
    await maintain(a);
    await b.query("begin");
    await receive(b);
    await fillSegment(a);
    await maintain(a);
    expect((await a.query("show lock_timeout")).rows[0].lock_timeout).toBe("7s");
    await b.query("commit");
  });

  test("that cannot have its lock is tried less and less often, counted over all sessions", async () => {
    await makeQueue(a);
    await drainedSegment(a);
    await observer.query("begin");
    await observer.query("lock table pgque.message_1 in access share mode");
    for (let i = 0; i < 30; i++) await maintain(i % 2 ? a : b);
    const { rows } = await a.query("select pg_sequence_last_value('pgque.lock_attempts_1') & 63 as waits");
    expect(Number(rows[0].waits), "of 30 attempts, those that waited 20 ms").toBeLessThan(5);
    await observer.query("commit");
    await maintain(a);
    expect((await ring(a)).bytes[0], "at once when nobody is in the way").toBe(0);
  });

  test("is one session's business at a time", async () => {
    await makeQueue(a);
    await drainedSegment(a);
    await a.query("begin");
    await maintain(a);
    expect(await maintain(b)).toBe(0);
    await send(b, "not held up");
    await a.query("commit");
  });
});

describe("an outcome", () => {
  test("goes to the segment of its batch: worker and recovery cannot both settle it across a rotation", async () => {
    await makeQueue(a);
    await fillSegment(a);
    const got = await receive(a, "c", 1000, "1 ms");
    await maintain(a);
    expect((await ring(a)).current, "the pointer has moved on since the batch was received").toBe(1);
    await maintain(b);
    expect(await ack(a, got.batch)).toBe(0);
    const { rows } = await a.query("select segment, final from pgque.outcome_1 where batch_id = $1", [got.batch]);
    expect(rows).toEqual([{ segment: 0, final: true }]);
    expect(await drain(a)).toHaveLength(100);
  });

  test("that a handler has not committed holds recovery up for 20 ms, and decides", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
    await send(a, "one", "two");
    const got = await receive(a, "c", 1000, "1 ms");
    await a.query("begin");
    expect(await ack(a, got.batch)).toBe(1);
    expect(await maintain(b), "somebody is about to settle it").toBe(0);
    await a.query("rollback");
    expect(await maintain(b)).toBe(1);
    expect((await receive(b)).payloads).toEqual(["one", "two"]);
  });

  test("of recovery makes a waiting ack find the batch finished", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
    await send(a, "one");
    const got = await receive(a, "c", 1000, "1 ms");
    await b.query("begin");
    expect(await maintain(b)).toBe(1);
    const late = await blocked(observer, a, "select pgque.ack($1) as done", [got.batch]);
    await b.query("commit");
    expect((await late.result).rows).toEqual([{ done: 0 }]);
  });
});
