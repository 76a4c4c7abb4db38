import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { makeLanes, sendWith, subscribe } from "../lanes/support.ts";
import { ack, drain, maintain, makeQueue, receive, send, type Received } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

async function snooze(got: Received, ids: string[], after: string): Promise<number> {
  const { rows } = await a.query("select pgque.snooze($1, $2::bigint[], $3) as n", [got.batch, ids, after]);
  return rows[0].n;
}

/** Settles a whole batch: these are snoozed, those released, the rest acked. */
async function settle(got: Received, snoozed: string[], after: string, released: string[] = []): Promise<number> {
  const { rows } = await a.query(
    `select pgque.settle($1, snooze_ids => $2, release_ids => $4,
                         snooze_after => array_fill($3::interval, array[cardinality($2::bigint[])])) as done`,
    [got.batch, snoozed, after, released],
  );
  return rows[0].done;
}

/** Maintains until something comes. */
async function receiveSoon(): Promise<Received> {
  let got: Received | undefined;
  await until(async () => {
    await maintain(a);
    got = await receive(b);
    return got.payloads.length > 0;
  }, "what was snoozed comes");
  return got as Received;
}

describe("A snoozed message of a shared consumer comes again at the same attempt", () => {
  beforeEach(() => makeQueue(a, ["c"], { max_retries: 1 }));

  test("when its time has come, and not before", async () => {
    await send(a, "done", "hour", "moment");
    const got = await receive(a);
    expect(await snooze(got, got.ids.slice(1, 2), "1 hour")).toBe(1);
    expect(await settle(got, got.ids.slice(2), "300 ms")).toBe(1);
    expect(await receiveSoon()).toMatchObject({ payloads: ["moment"], attempts: [1], ids: [got.ids[2]] });
    const { rows } = await a.query(
      "select state, attempt, due_at > clock_timestamp() + '59 min' as is_later from pgque.find_message('q', $1)",
      [got.ids[1]],
    );
    expect(rows).toEqual([{ state: "retrying", attempt: 1, is_later: true }]);
  });

  test("at once with no time at all, and however often: no attempt is used, not even the last", async () => {
    await send(a, "one");
    const first = await receive(a);
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
      first.batch,
      first.ids,
    ]);
    for (let i = 0; i < 5; i += 1) {
      const got = await receive(a);
      expect(got).toMatchObject({ payloads: ["one"], attempts: [2] });
      expect(await snooze(got, got.ids, "0 s")).toBe(1);
    }
    await a.query(`select pgque.change_queue('q', '{"max_retries": 0}')`);
    expect(await settle(await receive(a), first.ids, "0 s")).toBe(1);
    expect(await receive(a)).toMatchObject({ payloads: ["one"], attempts: [2] });
    expect((await a.query("select from pgque.dead_letter")).rows).toEqual([]);
  });

  test("once, whoever asks twice; its batch stays open for the others", async () => {
    await send(a, "one", "two");
    const got = await receive(a);
    expect(await snooze(got, [got.ids[0], got.ids[0]] as string[], "0 s")).toBe(1);
    expect(await snooze(got, got.ids.slice(0, 1), "0 s")).toBe(0);
    expect(await settle(got, got.ids, "0 s")).toBe(1);
    expect((await drain(a)).toSorted()).toEqual(["one", "two"]);
    expect(await snooze(got, got.ids, "0 s")).toBe(0);
  });

  test("for the consumer that had it alone", async () => {
    await a.query(`select pgque.subscribe('q', 'd', '{"from": "earliest", "mode": "shared"}')`);
    await send(a, "one");
    const got = await receive(a, "c");
    await settle(got, got.ids, "0 s");
    expect(await drain(a, "d")).toEqual(["one"]);
    expect(await drain(a, "c")).toEqual(["one"]);
  });

  test("if the transaction commits", async () => {
    await send(a, "one");
    const got = await receive(a);
    await a.query("begin");
    await snooze(got, got.ids, "0 s");
    await a.query("rollback");
    expect((await receive(b)).payloads).toEqual([]);
    expect(await ack(a, got.batch)).toBe(1);
    expect(await drain(b)).toEqual([]);
  });

  test("not when the lease was lost: the call says 0 and warns, and the message is with others", async () => {
    await send(a, "one");
    const lost = await receive(a, "c", 10, "1 ms");
    await until(async () => (await maintain(b)) > 0, "the lease has ended");
    const warnings: string[] = [];
    a.on("notice", (notice) => warnings.push(notice.message ?? ""));
    expect(await snooze(lost, lost.ids, "0 s")).toBe(0);
    expect(await settle(lost, lost.ids, "0 s")).toBe(0);
    expect(warnings).toEqual([`batch not found: ${lost.batch}`, `batch not found: ${lost.batch}`]);
    expect(await receive(b)).toMatchObject({ payloads: ["one"], attempts: [2] });
  });

  test("with its type, headers and creation time", async () => {
    await a.query(`select pgque.send('q', 'created', 'x', '{"headers": {"trace": "ü"}}')`);
    const first = (await a.query("select * from pgque.receive_messages('q', 'c')")).rows[0];
    await a.query("select pgque.snooze($1, $2::bigint[], '0 s')", [first.batch_id, [first.message_id]]);
    const second = (await a.query("select * from pgque.receive_messages('q', 'c')")).rows[0];
    for (const field of ["type", "headers", "created_at", "payload", "message_id", "attempt"])
      expect(second[field]).toEqual(first[field]);
  });
});

test("a snoozed message keeps its priority", async () => {
  await makeLanes(a, { priorities: 10 });
  await subscribe(a, { mode: "shared" });
  await sendWith(a, { priority: 5 }, "high");
  const got = await receive(a);
  await snooze(got, got.ids, "0 s");
  await sendWith(a, { priority: 1 }, "low");
  const { rows } = await a.query("select payload, priority from pgque.receive_messages('q', 'c', null, 1)");
  expect(rows).toEqual([{ payload: "high", priority: 5 }]);
});

test("a snoozed message whose end of life comes first is not delivered, and counted", async () => {
  await makeQueue(a, ["c"], { allow_expiry: true });
  await sendWith(a, { expires_at: new Date(Date.now() + 60_000) }, "one", "two");
  const got = await receive(a);
  await snooze(got, got.ids, "300 ms");
  await a.query(
    "update pgque.delayed_soon_0 set expires_at = clock_timestamp() - interval '1 s' where payload = 'one'",
  );
  expect((await receiveSoon()).payloads).toEqual(["two"]);
  const { rows } = await a.query("select expired::int from pgque.consumer_status('q')");
  expect(rows).toEqual([{ expired: 1 }]);
});

describe("A snoozed message of an exclusive consumer", () => {
  beforeEach(async () => {
    await makeQueue(a, []);
    await a.query("select pgque.subscribe('q', 'c')");
  });

  test("leaves the stream, which goes on, and comes later", async () => {
    await send(a, "done", "later");
    const got = await receive(a);
    expect(await settle(got, got.ids.slice(1), "300 ms")).toBe(1);
    await send(a, "next");
    expect(await drain(a)).toEqual(["next"]);
    expect(await receiveSoon()).toMatchObject({ payloads: ["later"], attempts: [1] });
  });

  test("leaves the open batch, in which what is released stays", async () => {
    await send(a, "done", "later", "released");
    const got = await receive(a);
    expect(await settle(got, got.ids.slice(1, 2), "0 s", got.ids.slice(2))).toBe(1);
    expect(await receive(b)).toMatchObject({ batch: got.batch, payloads: ["released"], attempts: [1] });
    expect(await ack(b, got.batch)).toBe(1);
    expect(await drain(b)).toEqual(["later"]);
  });
});

describe("A snoozed message of an ordered consumer", () => {
  beforeEach(() => makeLanes(a, { partitions: 1, max_retries: 1 }));

  const itsTimeHasCome = (): Promise<unknown> =>
    a.query("update pgque.batch_1 set waits_until = clock_timestamp() where waits_until is not null");

  test("blocks its lane until it is due, in its place, at the same attempt", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: "k" }, "k1", "k2", "k3");
    const got = await receive(a, "c", 2);
    expect(await settle(got, got.ids.slice(1), "1 hour")).toBe(1);
    await maintain(a);
    expect((await receive(b)).payloads).toEqual([]);
    await itsTimeHasCome();
    expect(await receive(b)).toMatchObject({ payloads: ["k2"], attempts: [1] });
  });

  test("ends its batch, whose rest waits with it", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: "k" }, "k1", "k2", "k3");
    const got = await receive(a);
    expect(await snooze(got, [], "0 s")).toBe(0);
    expect(await snooze(got, got.ids.slice(0, 1), "0 s")).toBe(1);
    expect(await ack(a, got.batch)).toBe(0);
    expect(await receive(b)).toMatchObject({ payloads: ["k1", "k2", "k3"], attempts: [1, 1, 1] });
  });

  test("waits with what has failed, until the latest of their times", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: "k" }, "k1", "k2");
    const { batch, ids } = await receive(a);
    await a.query(
      "select pgque.settle($1, array[$2]::bigint[], '{0 s}', snooze_ids => array[$3]::bigint[], snooze_after => '{1 hour}')",
      [batch, ids[0], ids[1]],
    );
    await maintain(a);
    expect((await receive(b)).payloads).toEqual([]);
    await itsTimeHasCome();
    expect(await receive(b)).toMatchObject({ payloads: ["k1", "k2"], attempts: [2, 1] });
  });

  test("comes although max_retries was lowered meanwhile", async () => {
    await subscribe(a, { mode: "ordered" });
    await sendWith(a, { key: "k" }, "k1");
    const first = await receive(a);
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
      first.batch,
      first.ids,
    ]);
    expect(await snooze(await receive(a), first.ids, "0 s")).toBe(1);
    await a.query(`select pgque.change_queue('q', '{"max_retries": 0}')`);
    expect(await receive(a)).toMatchObject({ payloads: ["k1"], attempts: [2] });
  });

  test("comes later when failures are skipped, and its lane goes on", async () => {
    await subscribe(a, { mode: "ordered", on_failure: "skip" });
    await sendWith(a, { key: "k" }, "k1", "k2", "k3");
    const got = await receive(a, "c", 2);
    expect(await snooze(got, got.ids.slice(0, 1), "300 ms")).toBe(1);
    expect(await settle(got, got.ids.slice(1), "1 hour")).toBe(1);
    const next = await receive(b);
    expect(next.payloads).toEqual(["k3"]);
    await ack(b, next.batch);
    expect(await receiveSoon()).toMatchObject({ payloads: ["k1"], attempts: [1] });
    const { rows } = await b.query("select key from pgque.find_message('q', $1)", [got.ids[0]]);
    expect(rows).toEqual([{ key: "k" }]);
  });
});
