import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, fillSegment, maintain, receive, ring, type Received } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";
import { keysOfTwoLanes, makeLanes, sendWith, subscribe } from "./support.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let [k, l] = ["", ""];
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  await makeLanes(a, { partitions: 16, max_retries: 2 });
  [k, l] = await keysOfTwoLanes(a);
});
afterEach(() => database.drop());

const nack = async ({ batch }: Received, ids: string[], retryAfter = "0 s"): Promise<number> =>
  (
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => $3, reason => 'test') as n", [
      batch,
      ids,
      retryAfter,
    ])
  ).rows[0].n;

/** Receives until something comes. */
async function receiveSoon(client: pg.Client): Promise<Received> {
  let got: Received | undefined;
  await until(async () => (got = await receive(client)).payloads.length > 0, "something comes");
  return got as Received;
}

describe("One key's messages are handled in order, by one worker at a time", () => {
  test("a lane has one open batch; other workers get other lanes meanwhile", async () => {
    await subscribe(a, { mode: "ordered" });
    await a.query("select pgque.send_batch('q', 't', $1::text[], null, $2)", [["k1", "l1", "k2"], { keys: [k, l, k] }]);
    const first = await receive(a, "c", 1);
    const second = await receive(b);
    expect([...first.payloads, ...second.payloads].toSorted()).toEqual(["k1", "l1"]);
    expect((await receive(b)).payloads).toEqual([]);
    await ack(a, first.payloads[0] === "k1" ? first.batch : second.batch);
    expect((await receive(b)).payloads).toEqual(["k2"]);
  });

  test("messages without a key go to any lane, delayed ones and dead letters to the lane of their key", async () => {
    await subscribe(a, { mode: "ordered" });
    await a.query("select pgque.send_batch('q', array_agg('x' || n)) from generate_series(1, 100) as n");
    const { rows: lanes } = await a.query("select count(distinct lane)::int as n from pgque.message_1");
    expect(lanes[0].n).toBe(16);
    expect(await drain(a)).toHaveLength(100);
    await sendWith(a, { key: k, delay: 0.01 }, "delayed");
    await until(async () => {
      await maintain(a);
      const { rows } = await a.query("select key, payload from pgque.receive_messages('q', 'c')");
      if (rows.length > 0) expect(rows).toEqual([{ key: k, payload: "delayed" }]);
      return rows.length > 0;
    }, "the delayed one is delivered");
    const { rows: sent } = await a.query("select lane from pgque.message_1 where key = $1", [k]);
    expect(sent).toEqual([{ lane: 3 }]);
  });

  test("a failed message blocks its lane until it is tried again; other lanes go on", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1", "k2");
    expect(await nack(await receive(a, "c", 1), ["1"], "1 hour")).toBe(1);
    await sendWith(a, { key: l }, "l1");
    expect((await receive(b)).payloads).toEqual(["l1"]);
    expect((await receive(b)).payloads).toEqual([]);
  });

  test("a failed message comes again in its place, after its time, one attempt further", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1", "k2", "k3");
    const got = await receive(a, "c", 2);
    await a.query("select pgque.ack($1, $2::bigint[])", [got.batch, []]);
    expect(await nack(got, got.ids.slice(0, 1), "0.3 s")).toBe(1);
    expect(await ack(a, got.batch)).toBe(0);
    const again = await receiveSoon(b);
    expect(again).toMatchObject({ payloads: ["k1", "k2"], attempts: [2, 1], ids: got.ids });
    await ack(b, again.batch);
    expect((await receive(b)).payloads).toEqual(["k3"]);
    expect((await updatesAndDeletes(a)).length).toBe(0);
  });

  test("a rest that waits is not handed out before its time, nor is anything behind it", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1", "k2");
    await nack(await receive(a, "c", 1), ["1"], "1 hour");
    for (let i = 0; i < 3; i += 1) {
      expect((await receive(b)).payloads).toEqual([]);
      await maintain(a);
    }
    await a.query("begin");
    await receive(a);
    const { rows } = await a.query("select pg_current_xact_id_if_assigned() as txid");
    expect(rows).toEqual([{ txid: null }]);
    await a.query("commit");
  });

  test("settle: what failed and what is released stays in its place, the rest is acked", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1", "k2", "k3", "k4");
    const { batch, ids } = await receive(a);
    await a.query("select pgque.ack($1, $2::bigint[])", [batch, [ids[0]]]);
    const { rows } = await a.query(
      "select pgque.settle($1, retry_ids => $2, retry_after => '{0 s}', reasons => '{broken}', release_ids => $3) as done",
      [batch, [ids[1]], [ids[3]]],
    );
    expect(rows[0].done).toBe(1);
    await sendWith(a, { key: k }, "k5");
    expect(await receive(b)).toMatchObject({ payloads: ["k2", "k4"], attempts: [2, 1] });
  });

  test("a message whose attempts are used up becomes a dead letter, with its reason, and the lane goes on", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "bad", "good");
    for (const attempt of [1, 2, 3]) {
      const got = await receive(a);
      expect(got.attempts[0]).toBe(attempt);
      await nack(got, got.ids.slice(0, 1));
    }
    expect(await receive(a)).toMatchObject({ payloads: ["good"], attempts: [1] });
    const { rows } = await a.query("select id, payload, attempt, key, reason from pgque.dlq_inspect('q')");
    expect(rows).toEqual([{ id: rows[0].id, payload: "bad", attempt: 3, key: k, reason: "test" }]);
  });

  test("when the lease has ended the rest comes in its place, one attempt further, and the old batch cannot be acked", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1", "k2");
    const lost = await receive(a, "c", 10, "1 ms");
    await sendWith(a, { key: k }, "k3");
    const again = await receiveSoon(b);
    expect(again).toMatchObject({ payloads: ["k1", "k2"], attempts: [2, 2] });
    expect(await ack(a, lost.batch)).toBe(0);
    expect(await nack(lost, lost.ids)).toBe(0);
    await ack(b, again.batch);
    expect((await receive(b)).payloads).toEqual(["k3"]);
  });

  test("a transaction that settles a batch whose lease has ended keeps its lane, and holds nobody up on others", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1", "k2");
    await sendWith(a, { key: l }, "l1");
    let got = await receive(a, "c", 1, "1 ms");
    if (got.payloads[0] === "l1") got = await receive(a, "c", 1, "1 ms");
    await a.query("begin");
    await a.query("select pgque.ack_strict($1)", [got.batch]);
    const others = [...(await receive(b)).payloads, ...(await receive(b)).payloads];
    expect(others.filter((payload) => payload.startsWith("k"))).toEqual([]);
    await a.query("commit");
    expect((await receiveSoon(b)).payloads).toEqual(["k2"]);
  });

  test("a consumer that skips lets a failed message come later, and its lane go on", async () => {
    await subscribe(a, { mode: "ordered", on_failure: "skip" });
    await sendWith(a, { key: k }, "k1", "k2", "k3");
    const got = await receive(a, "c", 2);
    expect(await nack(got, got.ids.slice(0, 1), "0.01 s")).toBe(1);
    expect((await receive(b)).payloads).toEqual([]);
    await ack(a, got.batch);
    const next = await receive(b);
    expect(next.payloads).toEqual(["k3"]);
    const { rows } = await a.query(
      "select pgque.settle($1, retry_ids => $2, retry_after => '{0 s}', release_ids => '{}') as done",
      [next.batch, next.ids],
    );
    expect(rows[0].done).toBe(1);
    const retried = await receive(b);
    expect(retried).toMatchObject({ payloads: ["k3"], attempts: [2] });
    await ack(b, retried.batch);
    await until(async () => (await maintain(a)) > 0, "the other retry is due");
    expect(await receive(b)).toMatchObject({ payloads: ["k1"], attempts: [2] });
  });

  test("a rest that waits keeps its segment, and its lane's cursor is carried over afterwards", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: k }, "k1");
    await nack(await receive(a), ["1"], "1 hour");
    await fillSegment(a);
    await drain(a);
    for (let i = 0; i < 4; i += 1) await maintain(a);
    const { current, bytes } = await ring(a);
    expect(current).not.toBe(0);
    expect(bytes[0]).toBeGreaterThan(0);
    await a.query("update pgque.batch_1 set waits_until = clock_timestamp() where waits_until is not null");
    expect(await drain(a)).toContain("k1");
    await until(async () => (await maintain(a)) >= 0 && (await ring(a)).bytes[0] === 0, "the segment is truncated");
    await sendWith(a, { key: k }, "k2");
    expect(await drain(a)).toEqual(["k2"]);
  });
});

test("a nack of nothing leaves a batch as it is, and a settle with null acks the rest", async () => {
  await subscribe(a, { mode: "ordered" });
  await sendWith(a, { key: k }, "1", "2");
  const got = await receive(a);
  expect(await nack(got, [])).toBe(0);
  await a.query("select pgque.settle($1, array[$2]::bigint[], '{0 s}', null, null)", [got.batch, got.ids[0]]);
  expect(await drain(a)).toEqual(["1"]);
});

test("maintenance wakes an idle worker for a rest whose time has come", async () => {
  await subscribe(a, { mode: "ordered" });
  let notified = 0;
  b.on("notification", () => (notified += 1));
  await b.query(`listen "pgque_q"`);
  await sendWith(a, { key: k }, "k1");
  await nack(await receive(a), ["1"], "0.05 s");
  await b.query("select pgque.raise_idle_flag('q')");
  await until(async () => {
    await maintain(a);
    await b.query("select 1");
    return notified > 0;
  }, "the idle worker is notified");
  expect((await receive(a)).payloads).toEqual(["k1"]);
});

test("… but not while the consumer, or the queue, is paused", async () => {
  await subscribe(a, { mode: "ordered" });
  let notified = 0;
  b.on("notification", () => (notified += 1));
  await b.query(`listen "pgque_q"`);
  await sendWith(a, { key: k }, "k1");
  await nack(await receive(a), ["1"], "0 s");
  await b.query("select pgque.raise_idle_flag('q')");
  for (const paused of [["q", "c"], ["q"]]) {
    const args = paused.map((name) => `'${name}'`).join(", ");
    await a.query(`select pgque.pause(${args})`);
    await maintain(a);
    await b.query("select 1");
    expect(notified).toBe(0);
    await a.query(`select pgque.resume(${args})`);
    await b.query("select 1");
    notified = 0;
  }
  await maintain(a);
  await b.query("select 1");
  expect(notified).toBe(1);
});
