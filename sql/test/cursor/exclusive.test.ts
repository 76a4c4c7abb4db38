import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  await makeQueue(a, [], { max_retries: 1 });
  await a.query("select pgque.subscribe('q', 'c')");
});
afterEach(() => database.drop());

/** Waits until a lease of a few milliseconds has ended. */
const leaseEnded = (batch: string): Promise<void> =>
  until(async () => {
    const { rows } = await a.query("select lease_until < clock_timestamp() as over from pgque.batch_1 where id = $1", [
      batch,
    ]);
    return rows[0].over;
  }, "the lease has ended");

test("an exclusive consumer, the default of subscribe, gets its open batch again, whoever asks, and writes nothing for it", async () => {
  await send(a, "one", "two", "three");
  const first = await receive(a, "c", 2);
  expect(first.payloads).toEqual(["one", "two"]);
  await b.query("begin");
  expect(await receive(b, "c", 1, "1 hour", "other")).toEqual(first);
  const { rows } = await b.query("select pg_current_xact_id_if_assigned() as txid");
  expect(rows).toEqual([{ txid: null }]);
  await b.query("commit");
  expect(await ack(b, first.batch)).toBe(1);
  expect((await receive(a, "c")).payloads).toEqual(["three"]);
});

test("what is acked of the open batch does not come again; the last ack of its messages finishes it", async () => {
  await send(a, "one", "two", "three");
  const { batch, ids } = await receive(a);
  await a.query("select pgque.ack($1, $2::bigint[])", [batch, [ids[1]]]);
  expect((await receive(a)).payloads).toEqual(["one", "three"]);
  await a.query("select pgque.ack($1, $2::bigint[])", [batch, [ids[0], ids[2]]]);
  expect((await receive(a)).payloads).toEqual([]);
});

test("when the lease has ended the rest comes in a batch of its own, in its place, one attempt further; the old one cannot be acked", async () => {
  await send(a, "one", "two", "three");
  const { batch, ids } = await receive(a, "c", 100, "1 ms");
  await a.query("select pgque.ack($1, $2::bigint[])", [batch, [ids[0]]]);
  await send(a, "later");
  await leaseEnded(batch);
  const second = await receive(b);
  expect(second.batch).not.toBe(batch);
  expect(second.payloads).toEqual(["two", "three"]);
  expect(second.attempts).toEqual([2, 2]);
  expect(second.ids).toEqual([ids[1], ids[2]]);
  expect(await ack(a, batch)).toBe(0);
  expect(await receive(a)).toEqual(second);
  expect(await ack(b, second.batch)).toBe(1);
  expect(await drain(a)).toEqual(["later"]);
});

test("what keeps killing its worker becomes a dead letter when its attempts are used up, and the stream goes on", async () => {
  await send(a, "poison");
  for (const attempt of [1, 2]) {
    const got = await receive(a, "c", 100, "1 ms");
    expect(got.attempts).toEqual([attempt]);
    await leaseEnded(got.batch);
  }
  await send(a, "next");
  expect(await drain(a)).toEqual(["next"]);
  const { rows } = await a.query("select payload, attempt, consumer, reason from pgque.dlq_inspect('q')");
  expect(rows).toEqual([
    { payload: "poison", attempt: 2, consumer: "c", reason: "the lease ended before the message was settled" },
  ]);
});

test("maintenance leaves the batch where it is, and its segment too", async () => {
  await fillSegment(a, "first");
  const got = await receive(a, "c", 100, "1 ms");
  expect(got.payloads).toHaveLength(100);
  await leaseEnded(got.batch);
  for (let i = 0; i < 5; i += 1) await maintain(a);
  const { current } = await ring(a);
  expect(current).not.toBe(0);
  const again = await receive(a);
  expect(again.payloads).toEqual(got.payloads);
  await ack(a, again.batch);
  for (let i = 0; i < 5; i += 1) await maintain(a);
  expect((await ring(a)).bytes[0]).toBe(0);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("what is released stays in its place, without an attempt; what is nacked comes later, and the stream goes on", async () => {
  await send(a, "done", "retry", "release");
  const { batch, ids } = await receive(a);
  await a.query("select pgque.settle($1, $2, $3::interval[], release_ids => $4)", [batch, [ids[1]], ["0 s"], [ids[2]]]);
  await send(a, "next");
  const rest = await receive(a);
  expect(rest).toEqual({ batch, ids: [ids[2]], payloads: ["release"], attempts: [1] });
  await ack(a, batch);
  const next = await receive(a);
  expect(next.payloads).toEqual(["retry", "next"]);
  expect(next.attempts).toEqual([2, 1]);
});

test("a handler's open transaction keeps its batch although the lease has ended; it commits, and the batch is finished", async () => {
  await send(a, "one");
  const { batch } = await receive(a, "c", 100, "1 ms");
  await leaseEnded(batch);
  await a.query("begin");
  await a.query("select pgque.ack_strict($1)", [batch]);
  expect((await receive(b)).batch).toBe(batch);
  await a.query("commit");
  expect((await receive(b)).payloads).toEqual([]);
});

test("two that receive at once get the same batch", async () => {
  await send(a, "one");
  await a.query("begin");
  const first = await receive(a);
  const { result } = await blocked(await database.connect(), b, "select batch_id from pgque.receive('q', 'c')");
  await a.query("commit");
  expect((await result).rows).toEqual([{ batch_id: first.batch }]);
});

test("a consumer keeps its mode", async () => {
  await expect(a.query(`select pgque.subscribe('q', 'c', '{"mode": "shared"}')`)).rejects.toMatchObject({
    code: "PQ004",
    message: "consumer 'c' is exclusive, not shared",
  });
  const { rows } = await a.query("select pgque.subscribe('q', 'c') as is_new");
  expect(rows).toEqual([{ is_new: 0 }]);
});

test("an exclusive consumer whose batch is acked does not look for open ones, which plans statements", async () => {
  await a.query("set track_functions = 'all'");
  await send(a, "one", "two", "three", "four");
  /** In one transaction: statistics are reported after it. */
  const looksOf = async (work: () => Promise<void>): Promise<number> => {
    const calls =
      "select coalesce(sum(calls), 0)::int as calls from pg_stat_xact_user_functions where funcname = 'open_batches'";
    await a.query("begin");
    const before = (await a.query(calls)).rows[0].calls;
    await work();
    const after = (await a.query(calls)).rows[0].calls;
    await a.query("commit");
    return after - before;
  };
  const receiveTwo = async (): Promise<void> => {
    for (let n = 0; n < 2; n += 1) expect(await ack(a, (await receive(a, "c", 1)).batch)).toBe(1);
  };
  expect(await looksOf(receiveTwo)).toBe(0);
  await receive(a, "c", 1);
  expect(await looksOf(async () => void (await receive(a, "c", 1))), "it is open").toBeGreaterThan(0);
  expect(await looksOf(async () => void (await ack(a, (await receive(a, "c", 1)).batch)))).toBeGreaterThan(0);
  expect(await looksOf(async () => void (await receive(a, "c", 1)))).toBe(0);
});

test("a consumer with several open batches that becomes exclusive gets each of them again before what is new", async () => {
  await a.query(`select pgque.subscribe('q', 's', '{"mode": "shared"}')`);
  await send(a, "one", "two", "three", "four");
  const [first, second, third] = [await receive(a, "s", 1), await receive(b, "s", 1), await receive(a, "s", 1)];
  expect(await ack(a, third.batch)).toBe(1);
  await a.query("update pgque.consumer set mode = 'exclusive' where name = 's'");
  for (const open of [first, second]) {
    expect(await receive(b, "s")).toEqual(open);
    // an ack that is not committed finishes nothing for others
    await a.query("begin");
    await ack(a, open.batch);
    expect(await receive(b, "s")).toEqual(open);
    await a.query("commit");
  }
  expect((await receive(b, "s")).payloads).toEqual(["four"]);
});
