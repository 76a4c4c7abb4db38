import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { keysOfTwoLanes, makeLanes, sendWith, subscribe } from "../lanes/support.ts";
import { ack, drain, makeQueue, receive, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

type Peeked = Record<string, unknown>;
const peek = async (consumer: string | null = null, max = 100, after: string | null = null): Promise<Peeked[]> =>
  (
    await a.query("select * from pgque.peek('q', consumer => $1, after => $2, max_messages => $3)", [
      consumer,
      after,
      max,
    ])
  ).rows;
const payloads = async (...page: Parameters<typeof peek>): Promise<unknown[]> =>
  (await peek(...page)).map(({ payload }) => payload);

/** All payloads, looked at in pages of this size, with something done after each. */
async function paged(consumer: string | null, max: number, meanwhile = async () => {}): Promise<unknown[]> {
  const all: Peeked[] = [];
  for (;;) {
    const page = await peek(consumer, max, (all.at(-1)?.["position"] as string | undefined) ?? null);
    expect(page.length).toBeLessThanOrEqual(max);
    if (page.length === 0) return all.map(({ payload }) => payload);
    all.push(...page);
    await meanwhile();
  }
}

const nack = (batch: string, ids: string[], after: string): Promise<unknown> =>
  a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => $3)", [batch, ids, after]);

describe("With a consumer: what it has not received, in the order in which it would", () => {
  test("across windows, pages, open transactions and late ones", async () => {
    await makeQueue(a, ["c", "d"]);
    const late = await database.connect();
    const later = await database.connect();
    await late.query("begin");
    await send(late, "late");
    await send(a, "1", "2", "3");
    expect((await receive(a, "c", 1)).payloads).toEqual(["1"]);
    await later.query("begin");
    await send(later, "later");
    await send(a, "4");
    expect(await payloads("c")).toEqual(["2", "3", "4"]);
    await late.query("commit");
    expect(await payloads("d")).toEqual(["late", "1", "2", "3", "4"]);
    const seen = await payloads("c");
    expect(seen).toEqual(["2", "3", "late", "4"]);
    expect(await paged("c", 1)).toEqual(seen);
    expect([await drain(a), await payloads("c")]).toEqual([seen, []]);
    await later.query("commit");
    expect(await payloads("c")).toEqual(["later"]);
    await send(a, "5");
    expect(await payloads("c")).toEqual(await drain(a));
  });

  test("a page goes on where the last one ended, whatever is received meanwhile", async () => {
    await makeQueue(a);
    const sent = Array.from({ length: 30 }, (_, i) => `${i}`);
    await send(a, ...sent.slice(0, 10));
    await receive(a, "c", 3);
    for (const payload of sent.slice(10)) await send(a, payload);
    const received = sent.slice(0, 3);
    expect(
      await paged("c", 4, async () => {
        received.push(...(await receive(a, "c", 4)).payloads);
      }),
    ).toEqual(sent.slice(3));
    expect(received).toEqual(sent);
  });

  test("not what has expired, nor what is in an open batch; its own retries, and not another's", async () => {
    await makeQueue(a, ["c", "d"], { allow_expiry: true });
    await sendWith(a, { expires_at: "2020-01-01T00:00:00Z" }, "old");
    await send(a, "x", "y");
    expect(await payloads("c")).toEqual(["x", "y"]);
    expect(await payloads()).toEqual(["old", "x", "y"]);
    const got = await receive(a, "c");
    expect(await payloads("c")).toEqual([]);
    await nack(got.batch, got.ids.slice(0, 1), "0 s");
    expect(await peek("c")).toMatchObject([{ payload: "x", attempt: 2, consumer: "c", message_id: got.ids[0] }]);
    expect(await payloads("d")).toEqual(["x", "y"]);
    await nack(got.batch, got.ids.slice(1), "1 hour");
    expect(await peek("c")).toMatchObject([
      { payload: "x", due_at: null },
      { payload: "y", due_at: expect.any(Date), consumer: "c", attempt: 2 },
    ]);
    await a.query("select pgque.unsubscribe('q', 'c')");
    expect(await payloads()).toEqual(["old", "x", "y"]);
  });

  test("by priority, the highest first", async () => {
    await makeLanes(a, { priorities: 3 });
    await subscribe(a, { mode: "shared" });
    for (const priority of [0, 2, 1, 2, 0]) await sendWith(a, { priority }, `${priority}`);
    expect(await peek("c")).toMatchObject([2, 2, 1, 0, 0].map((priority) => ({ priority, payload: `${priority}` })));
    expect(await paged("c", 2)).toEqual(["2", "2", "1", "0", "0"]);
    await receive(a, "c", 1);
    expect(await paged("c", 1)).toEqual(["2", "1", "0", "0"]);
    expect(await payloads("c")).toEqual(await drain(a));
    expect(await paged(null, 2)).toEqual(["0", "2", "1", "2", "0"]);
  });

  test("by key, each key's in its order", async () => {
    await makeLanes(a, { partitions: 16 });
    await subscribe(a, { mode: "ordered" });
    const [k, l] = await keysOfTwoLanes(a);
    for (const [key, payload] of [
      [l, "l1"],
      [k, "k1"],
      [l, "l2"],
      [k, "k2"],
    ])
      await sendWith(a, { key }, payload as string);
    expect(await paged("c", 3)).toEqual(["k1", "k2", "l1", "l2"]);
    expect((await peek("c", 1))[0]).toMatchObject({ key: k, priority: null });
  });
});

describe("Without one: everything that is kept, the oldest first", () => {
  test("received or not, of all segments", async () => {
    await makeQueue(a, ["c"], { retention: "1 hour" });
    await send(a, "1", "2");
    await ack(a, (await receive(a)).batch);
    await a.query("select setval('pgque.segment_pointer_1', pgque.pointer_to(1))");
    await send(a, "3");
    expect(await payloads()).toEqual(["1", "2", "3"]);
    expect(await paged(null, 2)).toEqual(["1", "2", "3"]);
  });

  test("and then what is delayed, in the order in which it becomes due, of this queue alone", async () => {
    await a.query("select pgque.create_queue('other')");
    await a.query("select pgque.create_queue('q')");
    await a.query(`select pgque.send('other', 't', 'x', '{"delay": 5}')`);
    await a.query(
      `select pgque.send_batch('q', 't', '{far,too}'::text[], null, '{"at": "2100-01-01T00:00:00Z"}'),
              pgque.send('q', 't', 'hour', '{"delay": "59 minutes"}'), pgque.send('q', 't', 'soon', '{"delay": 60}'), pgque.send('q', 'now')`,
    );
    expect(await payloads()).toEqual(["now", "soon", "hour", "far", "too"]);
    for (const size of [1, 2, 3]) expect(await paged(null, size)).toEqual(["now", "soon", "hour", "far", "too"]);
    expect((await peek(null, 4)).map(({ due_at }) => due_at)).toEqual([
      null,
      expect.any(Date),
      expect.any(Date),
      new Date("2100-01-01T00:00:00Z"),
    ]);
    await a.query("select pgque.subscribe('q', 'c')");
    expect(await paged("c", 2)).toEqual(["now", "soon", "hour", "far", "too"]);
  });

  test("what was delayed is seen once, before it is moved on, while and after", async () => {
    await makeQueue(a);
    const late = await database.connect();
    await late.query("begin");
    await late.query(`select pgque.send('q', 't', 'late', '{"delay": 600}')`);
    await a.query(
      `select pgque.send('q', 't', n::text, jsonb_build_object('delay', 10 * n)) from generate_series(1, 6) as n`,
    );
    await a.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '1 hour', 3)");
    expect(await payloads()).toEqual(["1", "2", "3", "4", "5", "6"]);
    await a.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '1 hour')");
    await late.query("commit");
    expect(await peek("c")).toMatchObject([
      ...["1", "2", "3", "4", "5", "6"].map((payload) => ({ payload })),
      { payload: "late" },
    ]);
    // where the table has already been moved up to
    await late.query("begin");
    await late.query(`select pgque.send('q', 't', 'behind', '{"delay": 5}')`);
    await a.query(`select pgque.send('q', 't', '7', '{"delay": 1200}')`);
    await a.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '1 hour')");
    await late.query("commit");
    await a.query(`select pgque.send('q', 't', 'behind too', '{"delay": 7}')`);
    expect((await payloads()).slice(-2)).toEqual(["behind", "behind too"]);
    expect((await paged(null, 1)).slice(-2)).toEqual(["behind", "behind too"]);
    expect(await payloads()).toHaveLength(10);
  });
});

test.each([
  ["peek(null)", "PQ001", "queue not found: NULL"],
  ["peek('nowhere')", "PQ001", "queue not found: nowhere"],
  ["peek('q', 'nobody')", "PQ002", "consumer not registered: nobody"],
  ["peek('q', '日本')", "PQ002", "consumer not registered: 日本"],
  ["peek('q', max_messages => 0)", "PQ004", "expected max_messages to be an integer from 1 to 1000, got: 0"],
  ["peek('q', max_messages => null)", "PQ004", "expected max_messages to be an integer from 1 to 1000, got: NULL"],
  ["peek('q', max_messages => 1001)", "PQ004", "got: 1001"],
  ["peek('q', after => '')", "PQ004", "expected after to be a position that peek has returned, got: ''"],
  ["peek('q', after => '1.2')", "PQ004", "got: '1.2'"],
  ["peek('q', after => '0.1.9223372036854775808')", "PQ004", "got: '0.1.9223372036854775808'"],
  ["peek('q', after => 'delayed.5.1.1')", "PQ004", "got: 'delayed.5.1.1'"],
  ["peek('q', after => repeat('日', 1000))", "PQ004", "got: '日日"],
])("%s is refused", async (call, code, message) => {
  await makeQueue(a);
  await expect(a.query(`select * from pgque.${call}`)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
  });
});

test("a position may be any that there could be", async () => {
  await makeQueue(a);
  await send(a, "x");
  expect(await payloads(null, 10, "9999.9999999999999999999.9223372036854775807")).toEqual([]);
  expect(await payloads("c", 10, "9999.9999999999999999999.9223372036854775807")).toEqual([]);
  expect(await payloads("c", 10, "delayed.4.-9999999999999999.0")).toEqual([]);
  expect(await payloads("c", 10, "0.0.0")).toEqual(["x"]);
});

test("to look writes nothing, locks nothing against anybody, and works in a transaction that may only read", async () => {
  await makeQueue(a);
  await send(a, "x");
  await a.query("begin read only");
  expect([await payloads(), await payloads("c")]).toEqual([["x"], ["x"]]);
  expect((await a.query("select pg_current_xact_id_if_assigned() as xid")).rows).toEqual([{ xid: null }]);
  const { rows } = await a.query(
    "select distinct mode from pg_locks where pid = pg_backend_pid() and locktype in ('relation', 'advisory')",
  );
  expect(rows).toEqual([{ mode: "AccessShareLock" }]);
  await a.query("rollback");
  expect(await payloads("c")).toEqual(await drain(a));
  expect(await updatesAndDeletes(a)).toEqual([]);
});
