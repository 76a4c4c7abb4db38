import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let late: pg.Client;
let later: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  [late, later] = [await database.connect(), await database.connect()];
  await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
});
afterEach(() => database.drop());

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix} ${String(i).padStart(4, "0")}`);

async function idsInBatch(batch: string): Promise<string[]> {
  const { rows } = await a.query("select message_id from pgque.batch_messages($1)", [batch]);
  return rows.map((row) => row.message_id);
}

/**
 * The batch begins with a transaction that was open before its window, whose messages fill more than a page of the index, and ends
 * inside another; the page on which the first one ends goes on with what is not in the batch. PostgreSQL 17 takes all that for the
 * first one's, if asked with an upper bound on (txid, seq) and an equality on txid, and if there are so many messages that it
 * plans to look for each late transaction by the index.
 */
test("a batch read again holds what was received, once, where an index page holds the end of a late transaction and of the batch", async () => {
  await late.query("begin");
  await send(late, "late, first");
  await send(a, "before");
  expect((await receive(b)).payloads).toEqual(["before"]);
  const lateOnes = numbered("late", 300);
  await send(late, ...lateOnes);
  await late.query("commit");
  const between = numbered("between", 5);
  await send(a, ...between);
  await later.query("begin");
  const laterOnes = numbered("later", 5);
  await send(later, ...laterOnes);
  const long = numbered("long", 5000);
  await send(a, ...long);

  const taken = ["late, first", ...lateOnes, ...between, ...long.slice(0, 10)];
  const got = await receive(b, "c", taken.length, "1 ms");
  expect(got.payloads).toEqual(taken);
  await later.query("commit");
  expect(await idsInBatch(got.batch)).toEqual(got.ids);

  await until(async () => {
    await maintain(a);
    return (await a.query("select from pgque.open_batches(1) where batch_id = $1", [got.batch])).rowCount === 0;
  }, "the batch is given back");
  expect((await drain(b)).toSorted()).toEqual([...taken, ...laterOnes, ...long.slice(10)].toSorted());
});
