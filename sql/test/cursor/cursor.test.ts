import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, drain, fillRing, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";
import { buffersOfReceive } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

describe("a transaction that receives", () => {
  for (const level of ["repeatable read", "serializable"]) {
    test(`is refused in isolation level ${level}: it would read an old cursor and get messages twice`, async () => {
      await makeQueue(a);
      await send(a, "one");
      for (const call of ["pgque.receive('q', 'c')", "pgque.subscribe('q', 'other')", "pgque.maintain()"]) {
        await a.query(`begin isolation level ${level}`);
        await expect(a.query(`select * from ${call}`)).rejects.toMatchObject({
          code: "PQ005",
          message: expect.stringContaining(level),
        });
        await a.query("rollback");
      }
    });
  }

  test("may send, ack and nack in any isolation level", async () => {
    await makeQueue(a);
    await send(a, "one", "two", "three");
    const got = await receive(a);
    await a.query("begin isolation level repeatable read");
    await send(a, "four");
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
      got.batch,
      [got.ids[0]],
    ]);
    expect(await ack(a, got.batch)).toBe(1);
    await a.query("commit");
    expect((await drain(a)).toSorted()).toEqual(["four", "one"]);
  });

  test("holds up the growth of the ring, so that its second receive misses no new segment", async () => {
    await makeQueue(a);
    // three segments, all of them full
    for (let segment = 0; segment < 3; segment++) {
      await fillSegment(a, `segment ${segment}`);
      if (segment < 2) await maintain(a);
    }
    await a.query("begin");
    const first = await receive(a);
    expect(first.payloads).toHaveLength(300);

    await maintain(b);
    expect((await ring(b)).bytes, "the ring does not grow under an open receive").toHaveLength(3);
    const growth = await blocked(observer, b, "select pgque.create_segment(1, 3)");
    expect(await receive(a).then((got) => got.payloads)).toEqual([]);
    await a.query("commit");
    await growth.result;
  });

  test("sees what is in a segment that was made between its receives by the same session", async () => {
    await makeQueue(a);
    await receive(a);
    await fillRing(b, 3);
    expect((await ring(b)).current).toBe(3);
    await send(b, "in the new segment");
    expect(await drain(a)).toContain("in the new segment");
  });

  test("does not get the messages that it sent itself before it commits, and gets them afterwards", async () => {
    await makeQueue(a);
    await a.query("begin");
    await send(a, "one");
    await send(b, "other");
    expect((await receive(a)).payloads).toEqual(["other"]);
    await send(a, "two");
    await a.query("commit");
    expect(await drain(a)).toEqual(["one", "two"]);
    expect(await drain(a)).toEqual([]);
  });

  test("takes its cursor back with it when it rolls back", async () => {
    await makeQueue(a);
    await send(a, "one", "two");
    await a.query("begin");
    expect((await receive(a, "c", 1)).payloads).toEqual(["one"]);
    await a.query("rollback");
    expect(await drain(a)).toEqual(["one", "two"]);
  });
});

describe("a transaction that subscribes", () => {
  test("receives what it sends afterwards: begin, subscribe, send, commit", async () => {
    await makeQueue(a, ["first"]);
    await send(a, "before");
    await a.query("begin");
    await a.query(`select pgque.subscribe('q', 'late', '{"mode": "shared"}')`);
    await send(a, "after");
    await a.query("commit");
    expect(await drain(a, "late")).toEqual(["after"]);
  });

  test("receives what it sent before, because that was not committed yet", async () => {
    await makeQueue(a, ["first"]);
    await a.query("begin");
    await send(a, "one");
    // a later transaction ends first: now a's own id lies below the snapshot's xmax, and is not in its list
    await send(b, "before");
    await a.query(`select pgque.subscribe('q', 'late', '{"mode": "shared"}')`);
    await send(a, "two");
    await a.query("commit");
    expect(await drain(a, "late")).toEqual(["one", "two"]);
  });

  test("starts at the earliest message when it is the first, and from now on when it is not", async () => {
    await a.query("select pgque.create_queue('q')");
    await send(a, "kept for the first");
    await a.query(
      `select pgque.subscribe('q', 'first', '{"mode": "shared"}'), pgque.subscribe('q', 'second', '{"mode": "shared"}')`,
    );
    await a.query(`select pgque.subscribe('q', 'third', '{"from": "earliest", "mode": "shared"}')`);
    expect(await drain(a, "first")).toEqual(["kept for the first"]);
    expect(await drain(a, "second")).toEqual([]);
    expect(await drain(a, "third")).toEqual(["kept for the first"]);
  });
});

describe("two workers of one consumer", () => {
  test("never get the same message: the second waits for the first and goes on after it", async () => {
    await makeQueue(a);
    await send(a, "one", "two", "three");
    await a.query("begin");
    expect((await receive(a, "c", 2)).payloads).toEqual(["one", "two"]);
    const second = await blocked(observer, b, "select payload from pgque.receive('q', 'c', 2)");
    await a.query("commit");
    expect((await second.result).rows).toEqual([{ payload: "three" }]);
  });

  test("lose nothing when the first rolls back: the second gets its messages", async () => {
    await makeQueue(a);
    await send(a, "one", "two", "three");
    await a.query("begin");
    await receive(a, "c", 2);
    const second = await blocked(observer, b, "select payload from pgque.receive('q', 'c', 2)");
    await a.query("rollback");
    expect((await second.result).rows).toEqual([{ payload: "one" }, { payload: "two" }]);
  });
});

describe("a writer that stays open", () => {
  test("holds nobody up, and its message comes once it commits, once", async () => {
    await makeQueue(a, ["c", "d"]);
    await a.query("begin");
    await send(a, "slow");
    for (let i = 0; i < 5; i++) {
      await send(b, `fast ${i}`);
      expect(await drain(b)).toEqual([`fast ${i}`]);
    }
    await a.query("commit");
    expect(await drain(b)).toEqual(["slow"]);
    expect(await drain(b)).toEqual([]);
    expect((await drain(b, "d")).toSorted()).toEqual(["fast 0", "fast 1", "fast 2", "fast 3", "fast 4", "slow"]);
  });

  test("costs a receive no more than a probe, however much was sent since", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
    await a.query("begin");
    await send(a, "slow");
    for (let i = 0; i < 20; i++) await b.query("select pgque.send_batch('q', array_fill('x'::text, array[1000]))");
    await drain(b);
    await a.query("commit");
    expect((await buffersOfReceive(b)).buffers, "buffers of a receive").toBeLessThan(100);
  });

  test("is left alone by a consumer whose position has passed it in an earlier window", async () => {
    await makeQueue(a);
    await a.query("begin");
    await send(a, "rolled back");
    await send(b, "one");
    expect(await drain(b)).toEqual(["one"]);
    await a.query("rollback");
    await send(b, "two");
    expect(await drain(b)).toEqual(["two"]);
  });

  test("may use savepoints: what is rolled back to one is never received", async () => {
    await makeQueue(a);
    await a.query("begin");
    await send(a, "kept");
    await a.query("savepoint s");
    await send(a, "undone");
    await a.query("rollback to s");
    await a.query("savepoint t");
    await send(a, "kept too");
    await a.query("commit");
    expect(await drain(a)).toEqual(["kept", "kept too"]);
  });
});

describe("what a receive reads", () => {
  test("a page at the end of a window costs what one at its beginning costs", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
    await a.query("select pgque.send_batch('q', array_fill('x'::text, array[50000]))");
    await receive(a, "c", 100);
    const { buffers: early } = await buffersOfReceive(a);
    await receive(a, "c", 48_000);
    const { buffers: late } = await buffersOfReceive(a);
    expect(late).toBeLessThan(early * 1.5);
  });

  test("every consumer sees every message, and the workers of one share them", async () => {
    await makeQueue(a, ["c", "d"]);
    await send(a, "one", "two");
    expect((await receive(a, "c", 1)).payloads).toEqual(["one"]);
    expect((await receive(b, "c", 1)).payloads).toEqual(["two"]);
    expect((await receive(b, "d")).payloads).toEqual(["one", "two"]);
  });

  test("messages of one transaction come in the order they were sent", async () => {
    await makeQueue(a);
    const payloads = Array.from({ length: 500 }, (_, i) => `${i}`);
    await a.query("begin");
    for (const payload of payloads.slice(0, 20)) await a.query("select pgque.send('q', $1::text)", [payload]);
    await send(a, ...payloads.slice(20));
    await a.query("commit");
    expect(await drain(a)).toEqual(payloads);
  });
});
