import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { makeLanes, sendWith, subscribe } from "../lanes/support.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

type Place = Record<string, unknown>;
const find = async (id: string | null, queue: string | null = "q"): Promise<Place[]> =>
  (await a.query("select * from pgque.find_message($1, $2)", [queue, id])).rows;
const states = async (id: string): Promise<unknown[]> =>
  (await find(id)).map(({ consumer, state, attempt }) => [consumer, state, attempt]);
const nack = (batch: string, ids: string[], after = "1 hour", reason: string | null = null): Promise<unknown> =>
  a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => $3, reason => $4)", [
    batch,
    ids,
    after,
    reason,
  ]);
const idOf = async (payload: string): Promise<string> =>
  (await a.query("select id from pgque.message_1 where payload = $1 limit 1", [payload])).rows[0].id;

describe("a message is found", () => {
  test("waiting for each consumer, or for whoever subscribes first, with all that was sent", async () => {
    await a.query("select pgque.create_queue('q')");
    await a.query(`select pgque.send('q', 'größe', '订单', '{"headers": {"a": 1}}')`);
    expect(await find("1")).toMatchObject([
      {
        state: "waiting",
        consumer: null,
        attempt: 1,
        type: "größe",
        payload: "订单",
        headers: { a: 1 },
        priority: null,
      },
    ]);
    await a.query("select pgque.subscribe('q', 'c'), pgque.subscribe('q', 'd'), pgque.subscribe('q', 'e')");
    await a.query("select pgque.seek('q', 'd', 'earliest')");
    expect(await states("1")).toEqual([
      ["c", "waiting", 1],
      ["d", "waiting", 1],
      ["e", "passed", 1],
    ]);
  });

  test("in flight, with its batch, its worker and until when the lease lasts, heartbeats counted", async () => {
    await makeQueue(a, ["c", "d"]);
    await send(a, "x", "y");
    const got = await receive(a, "c", 1000, "1 minute", "worker 7");
    const [first] = await find("1");
    const { rows } = await a.query("select lease_until from pgque.batch_1 where id = $1", [got.batch]);
    expect(first).toMatchObject({
      state: "in_flight",
      consumer: "c",
      batch_id: got.batch,
      worker: "worker 7",
      leased_until: rows[0].lease_until,
      settled_at: null,
    });
    await a.query("select pgque.heartbeat('worker 7', '1 hour')");
    expect((await find("1"))[0]?.["leased_until"]).not.toEqual(rows[0].lease_until);
    await a.query("select pgque.ack($1, $2::bigint[])", [got.batch, ["1"]]);
    expect(await states("1")).toEqual([
      ["c", "settled", 1],
      ["d", "waiting", 1],
    ]);
    expect(await states("2")).toEqual([
      ["c", "in_flight", 1],
      ["d", "waiting", 1],
    ]);
    await ack(a, got.batch);
    expect((await find("2"))[0]).toMatchObject({ state: "settled", batch_id: got.batch, settled_at: expect.any(Date) });
  });

  test("delayed, and then waiting", async () => {
    await makeQueue(a);
    const { rows } = await a.query(
      `select pgque.send('q', 't', 'far', '{"delay": "2 days"}') as far, pgque.send('q', 't', 'soon', '{"delay": 0.05}') as soon`,
    );
    expect(await find(rows[0].far)).toMatchObject([
      { state: "delayed", consumer: null, due_at: expect.any(Date), payload: "far" },
    ]);
    await until(async () => {
      await maintain(a);
      const [place] = await states(rows[0].soon);
      expect(place).toEqual((place as unknown[])[0] === null ? [null, "delayed", 1] : ["c", "waiting", 1]);
      return (place as unknown[])[0] === "c";
    }, "it is due");
  });

  test("retrying, and dead with its reason; sent again it waits", async () => {
    await makeQueue(a, ["c", "d"], { max_retries: 1 });
    await send(a, "x");
    let got = await receive(a);
    await nack(got.batch, got.ids, "1 hour", "not yet");
    expect(await find("1")).toMatchObject([
      { consumer: "c", state: "retrying", attempt: 2, due_at: expect.any(Date), reason: null },
      { consumer: "d", state: "waiting", attempt: 1 },
    ]);
    got = await receive(a, "d");
    await nack(got.batch, got.ids, "0 s");
    expect((await states("1"))[1]).toEqual(["d", "waiting", 2]);
    got = await receive(a, "d");
    await nack(got.batch, got.ids, "0 s", "kaputt");
    const [, dead] = await find("1");
    expect(dead).toMatchObject({
      consumer: "d",
      state: "dead",
      attempt: 2,
      reason: "kaputt",
      died_at: expect.any(Date),
    });
    await a.query("select pgque.redrive('q', ids => $1)", [[dead?.["dead_letter_id"]]]);
    expect((await states("1"))[1]).toEqual(["d", "waiting", 1]);
    await drain(a, "d");
    expect((await states("1"))[1]).toEqual(["d", "settled", 1]);
    await a.query("select pgque.unsubscribe('q', 'c')");
    expect(await states("1")).toHaveLength(1);
  });

  test("in the place that it keeps with an ordered consumer", async () => {
    await makeLanes(a, { partitions: 16 });
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: "k" }, "bad", "good");
    const got = await receive(a);
    await nack(got.batch, [got.ids[0] ?? ""]);
    await ack(a, got.batch);
    const [bad] = await find(got.ids[0] ?? "");
    expect(bad).toMatchObject({
      state: "retrying",
      attempt: 2,
      key: "k",
      due_at: expect.any(Date),
      leased_until: null,
    });
    const { rows } = await a.query("select state, due_at from pgque.find_message('q', $1)", [got.ids[1]]);
    expect(rows).toEqual([{ state: "waiting", due_at: bad?.["due_at"] }]);
  });

  test("with its priority, in whatever lane", async () => {
    await makeLanes(a, { priorities: 10 });
    await subscribe(a, { mode: "shared" });
    await sendWith(a, { priority: 9 }, "high");
    expect(await find("1")).toMatchObject([{ state: "waiting", priority: 9, key: null }]);
    await receive(a);
    expect(await find("1")).toMatchObject([{ state: "in_flight", priority: 9 }]);
  });

  test("expired, whether the consumer has passed it over or not", async () => {
    await makeQueue(a, ["c"], { allow_expiry: true });
    await sendWith(a, { expires_at: "2020-01-01T00:00:00Z" }, "old");
    expect(await states("1")).toEqual([["c", "expired", 1]]);
    expect(await drain(a)).toEqual([]);
    expect(await states("1")).toEqual([["c", "expired", 1]]);
  });

  test("of a transaction that committed late, in the right batch", async () => {
    await makeQueue(a);
    const b = await database.connect();
    await b.query("begin");
    await send(b, "late");
    await send(a, "early");
    const early = await receive(a);
    expect(await find("1")).toEqual([]);
    await b.query("commit");
    expect(await states("1")).toEqual([["c", "waiting", 1]]);
    const late = await receive(a);
    expect((await find("1"))[0]).toMatchObject({ state: "in_flight", batch_id: late.batch });
    expect((await find("2"))[0]).toMatchObject({ state: "in_flight", batch_id: early.batch });
  });
});

test("what every consumer is done with is known until its segment is truncated", async () => {
  await makeQueue(a);
  await fillSegment(a);
  await drain(a);
  const id = await idOf("filler 0 ".padEnd(109, "x"));
  expect(await states(id)).toEqual([["c", "settled", 1]]);
  await maintain(a);
  await until(async () => {
    await maintain(a);
    return (await ring(a)).bytes[0] === 0;
  }, "the segment is truncated");
  expect(await find(id)).toEqual([]);
});

test("nothing is found of a message that was never sent, or in another queue", async () => {
  await makeQueue(a);
  await send(a, "x");
  await a.query("select pgque.create_queue('other')");
  expect(await find("2")).toEqual([]);
  expect(await find("-1")).toEqual([]);
  expect(await find("9223372036854775807")).toEqual([]);
  expect(await find("1", "other")).toEqual([]);
  await expect(find(null)).rejects.toMatchObject({ code: "PQ004", message: "expected a message id, got: NULL" });
  await expect(find("1", "nowhere")).rejects.toMatchObject({ code: "PQ001" });
  await expect(find("1", null)).rejects.toMatchObject({ code: "PQ001" });
});

test("to look writes nothing, and works in a transaction that may only read", async () => {
  await makeQueue(a);
  await send(a, "x");
  await receive(a);
  await a.query("begin read only");
  expect(await states("1")).toEqual([["c", "in_flight", 1]]);
  expect((await a.query("select pg_current_xact_id_if_assigned() as xid")).rows).toEqual([{ xid: null }]);
  const { rows } = await a.query(
    "select distinct mode from pg_locks where pid = pg_backend_pid() and locktype in ('relation', 'advisory')",
  );
  expect(rows).toEqual([{ mode: "AccessShareLock" }]);
  await a.query("rollback");
  expect(await updatesAndDeletes(a)).toEqual([]);
});
