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

async function bury(got: Received, ids: string[], reason: string | null = null): Promise<number> {
  const { rows } = await a.query("select pgque.bury($1, $2::bigint[], $3) as n", [got.batch, ids, reason]);
  return rows[0].n;
}

/** Settles a whole batch: these are dead, those released, the rest acked. */
async function settle(got: Received, dead: string[], reasons: string[] = [], released: string[] = []): Promise<number> {
  const { rows } = await a.query(
    "select pgque.settle($1, dead_ids => $2, dead_reasons => $3, release_ids => $4) as done",
    [got.batch, dead, reasons, released],
  );
  return rows[0].done;
}

async function letters(): Promise<Record<string, unknown>[]> {
  return (await a.query("select payload, attempt, reason from pgque.dead_letter order by payload")).rows;
}

describe("A buried message of a shared consumer is a dead letter", () => {
  beforeEach(() => makeQueue(a, ["c"], { max_retries: 5 }));

  test("at once, whatever attempts it has left, with its reason or none", async () => {
    await send(a, "one", "three", "two");
    const got = await receive(a);
    expect(await bury(got, got.ids.slice(0, 1), "no such account")).toBe(1);
    expect(await settle(got, got.ids.slice(1, 2), ["no such order"])).toBe(1);
    await send(a, "four");
    const second = await receive(a);
    expect(await settle(second, second.ids)).toBe(1);
    expect(await letters()).toEqual([
      { payload: "four", attempt: 1, reason: null },
      { payload: "one", attempt: 1, reason: "no such account" },
      { payload: "three", attempt: 1, reason: "no such order" },
    ]);
    expect(await drain(a)).toEqual([]);
  });

  test("with the attempt at which it was buried", async () => {
    await send(a, "one");
    const first = await receive(a);
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
      first.batch,
      first.ids,
    ]);
    expect(await bury(await receive(a), first.ids)).toBe(1);
    expect(await letters()).toEqual([{ payload: "one", attempt: 2, reason: null }]);
  });

  test("once, whoever asks twice; its batch stays open for the others", async () => {
    await send(a, "one", "two");
    const got = await receive(a);
    expect(await bury(got, [got.ids[0], got.ids[0]] as string[], "first")).toBe(1);
    expect(await bury(got, got.ids.slice(0, 1), "second")).toBe(0);
    expect(await settle(got, got.ids, ["second", "second"])).toBe(1);
    expect(await bury(got, got.ids)).toBe(0);
    expect(await letters()).toMatchObject([
      { payload: "one", reason: "first" },
      { payload: "two", reason: "second" },
    ]);
  });

  test("of the consumer that had it alone, and can be sent again", async () => {
    await a.query(`select pgque.subscribe('q', 'd', '{"from": "earliest", "mode": "shared"}')`);
    await send(a, "one");
    const got = await receive(a);
    await settle(got, got.ids);
    expect(await drain(a, "d")).toEqual(["one"]);
    await a.query("select pgque.redrive('q')");
    expect(await drain(a, "d")).toEqual([]);
    expect(await drain(a, "c")).toEqual(["one"]);
  });

  test("if the transaction commits", async () => {
    await send(a, "one");
    const got = await receive(a);
    await a.query("begin");
    await settle(got, got.ids);
    await a.query("rollback");
    expect(await letters()).toEqual([]);
    expect(await ack(a, got.batch)).toBe(1);
  });

  test("not when the lease was lost: the call says 0 and warns, and the message is with others", async () => {
    await send(a, "one");
    const lost = await receive(a, "c", 10, "1 ms");
    await until(async () => (await maintain(b)) > 0, "the lease has ended");
    const warnings: string[] = [];
    a.on("notice", (notice) => warnings.push(notice.message ?? ""));
    expect(await bury(lost, lost.ids)).toBe(0);
    expect(await settle(lost, lost.ids)).toBe(0);
    expect(warnings).toEqual([`batch not found: ${lost.batch}`, `batch not found: ${lost.batch}`]);
    expect(await letters()).toEqual([]);
    expect(await drain(b)).toEqual(["one"]);
  });

  test("not when it is not in the batch", async () => {
    await send(a, "one");
    const got = await receive(a);
    await expect(bury(got, ["99"])).rejects.toMatchObject({ code: "PQ003" });
    await expect(settle(got, ["99"])).rejects.toMatchObject({ code: "PQ003" });
    expect(await ack(a, got.batch)).toBe(1);
  });
});

test("a buried message of an exclusive consumer leaves the open batch, in which what is released stays", async () => {
  await makeQueue(a, []);
  await a.query("select pgque.subscribe('q', 'c')");
  await send(a, "done", "dead", "released");
  const got = await receive(a);
  expect(await settle(got, got.ids.slice(1, 2), ["why"], got.ids.slice(2))).toBe(1);
  expect(await receive(b)).toMatchObject({ batch: got.batch, payloads: ["released"], attempts: [1] });
  expect(await letters()).toEqual([{ payload: "dead", attempt: 1, reason: "why" }]);
  expect(await ack(b, got.batch)).toBe(1);
  expect(await drain(b)).toEqual([]);
});

describe.each(["block", "skip"])("A buried message of an ordered consumer with on_failure = %s", (onFailure) => {
  beforeEach(async () => {
    await makeLanes(a, { partitions: 1 });
    await subscribe(a, { mode: "ordered", on_failure: onFailure });
    await sendWith(a, { key: "k" }, "k1", "k2", "k3");
  });

  test("ends, and its lane goes on", async () => {
    const got = await receive(a, "c", 2);
    expect(await settle(got, got.ids.slice(0, 1), ["why"])).toBe(1);
    expect(await receive(b)).toMatchObject({ payloads: ["k3"], attempts: [1] });
    const { rows } = await a.query("select payload, key, reason from pgque.dead_letters('q')");
    expect(rows).toEqual([{ payload: "k1", key: "k", reason: "why" }]);
  });

  test("leaves its batch, which stays open and keeps its lane", async () => {
    const got = await receive(a, "c", 2);
    expect(await bury(got, got.ids.slice(0, 1))).toBe(1);
    expect((await receive(b)).payloads).toEqual([]);
    expect(await ack(a, got.batch)).toBe(1);
    expect(await drain(b)).toEqual(["k3"]);
  });

  test("leaves what is released in its place", async () => {
    const got = await receive(a);
    expect(await settle(got, got.ids.slice(0, 1), ["why"], got.ids.slice(1, 2))).toBe(1);
    expect(await receive(b)).toMatchObject({ payloads: ["k2"], attempts: [1] });
  });
});

test("a buried message keeps its priority", async () => {
  await makeLanes(a, { priorities: 10 });
  await subscribe(a, { mode: "shared" });
  await sendWith(a, { priority: 5 }, "high");
  const got = await receive(a);
  await settle(got, got.ids);
  const { rows } = await a.query("select payload, priority from pgque.dead_letters('q')");
  expect(rows).toEqual([{ payload: "high", priority: 5 }]);
});
