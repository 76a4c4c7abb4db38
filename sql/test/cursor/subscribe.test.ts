import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { drain, makeQueue, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  await makeQueue(a);
});
afterEach(() => database.drop());

const now = async (): Promise<string> => (await a.query("select clock_timestamp()::text as now")).rows[0].now;
const subscribeFrom = (consumer: string, from: string): Promise<unknown> =>
  a.query("select pgque.subscribe('q', $1, $2)", [consumer, { from, mode: "shared" }]);

test("a consumer from a time gets what was sent since, and what commits later, whenever it was sent", async () => {
  await send(a, "before");
  await b.query("begin");
  await send(b, "open");
  const time = await now();
  await send(a, "after 1", "after 2");
  await subscribeFrom("d", time);
  await send(a, "later");
  expect(await drain(a, "d")).toEqual(["after 1", "after 2", "later"]);
  await b.query("commit");
  expect(await drain(a, "d")).toEqual(["open"]);
});

test("a time in the future is from now on, one long ago from the earliest message kept", async () => {
  await send(a, "one");
  await subscribeFrom("future", "2999-01-01");
  await subscribeFrom("past", "1999-01-01");
  await send(a, "two");
  expect(await drain(a, "future")).toEqual(["two"]);
  expect(await drain(a, "past")).toEqual(["one", "two"]);
});

test.each(["yesterday-ish", "Earliest", ""])("%j is no time", async (from) => {
  await expect(subscribeFrom("d", from)).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringContaining('expected from to be "earliest", "latest" or a time'),
  });
});
