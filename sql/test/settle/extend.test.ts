import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  a = await database.connect();
  await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
});
afterAll(() => database.drop());

async function extend(batch: string, lease: string | null = "1 hour"): Promise<number> {
  const { rows } = await a.query("select pgque.extend($1, $2) as held", [batch, lease]);
  return rows[0].held;
}

test("a batch that is extended outlives its lease, as often as it is extended", async () => {
  await send(a, "one");
  const got = await receive(a, "c", 10, "1 ms", "w");
  expect(await extend(got.batch)).toBe(1);
  expect(await extend(got.batch, "1 ms"), "which shortens nothing").toBe(1);
  await maintain(a);
  expect(await ack(a, got.batch)).toBe(1);
});

test("a batch whose lease is lost, or that is finished or unknown, is not extended", async () => {
  await send(a, "two");
  const got = await receive(a, "c", 10, "1 ms", "x");
  expect(await maintain(a)).toBe(1);
  expect(await extend(got.batch)).toBe(0);
  expect(await drain(a)).toEqual(["two"]);
  for (const unknown of ["0", "1", "-1", "9223372036854775807"]) expect(await extend(unknown)).toBe(0);
});

test("says what it cannot extend: a batch of nobody's, a lease out of range", async () => {
  await send(a, "three");
  const got = await receive(a);
  await expect(extend(got.batch)).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringMatching(/worker's name/),
  });
  for (const lease of [null, "0", "-1 s", "25 hours"])
    await expect(extend(got.batch, lease)).rejects.toMatchObject({ code: "PQ004" });
  expect(await ack(a, got.batch)).toBe(1);
});
