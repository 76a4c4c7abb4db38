import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, drain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
  await makeQueue(a);
});
afterEach(() => database.drop());

const seek = (position: string | null): Promise<unknown> => a.query("select pgque.seek('q', 'c', $1)", [position]);

test("a consumer is placed at earliest and gets again what is kept, each message once, those that were retried too", async () => {
  await send(a, "one", "two", "three");
  const { batch, ids } = await receive(a);
  await a.query("select pgque.nack($1, $2::bigint[], '0 s')", [batch, [ids[1]]]);
  await ack(a, batch);
  await seek("earliest");
  const again = await receive(a);
  expect(again.ids).toEqual(ids);
  expect(again.attempts).toEqual([1, 1, 1]);
  await ack(a, again.batch);
  expect(await drain(a)).toEqual([]);
});

test("placed at a time it gets what was sent since, at latest what is sent from now on", async () => {
  await send(a, "one");
  const { rows } = await a.query("select clock_timestamp()::text as now");
  await send(a, "two");
  await drain(a);
  await seek(rows[0].now);
  expect(await drain(a)).toEqual(["two"]);
  await send(a, "three");
  await seek("latest");
  await send(a, "four");
  expect(await drain(a)).toEqual(["four"]);
});

test("an open batch of before can be settled, and gives nothing back", async () => {
  await send(a, "one", "two");
  const { batch, ids } = await receive(a);
  await seek("latest");
  await a.query("select pgque.nack($1, $2::bigint[], '0 s')", [batch, [ids[0]]]);
  expect(await ack(a, batch)).toBe(1);
  expect(await drain(a)).toEqual([]);
});

test("other consumers stay where they are, and its mode stays what it is", async () => {
  await a.query(`select pgque.subscribe('q', 'd', '{"from": "earliest"}')`);
  await send(a, "one");
  await seek("latest");
  await a.query("select pgque.seek('q', 'd', 'earliest')");
  const first = await receive(a, "d");
  expect(await receive(a, "d")).toEqual(first);
  expect(await drain(a)).toEqual([]);
});

test.each([
  [null, "PQ004", "expected a position, got: NULL"],
  ["soon", "PQ004", 'expected from to be "earliest", "latest" or a time'],
])("%j is no position", async (position, code, message) => {
  await expect(seek(position)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
});

test("a consumer that is not there is not made", async () => {
  await expect(a.query("select pgque.seek('q', 'nobody', 'earliest')")).rejects.toMatchObject({
    code: "PQ002",
    message: "consumer not registered: nobody",
  });
});
