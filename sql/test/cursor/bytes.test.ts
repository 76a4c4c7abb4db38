import type pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, makeQueue, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

/** Lengths of the payloads that a receive bounded in bytes brings. */
async function receive(maxBytes: number | null, max = 100): Promise<number[]> {
  const { rows } = await a.query(
    "select * from pgque.receive_messages('q', 'c', max_messages => $1, max_bytes => $2)",
    [max, maxBytes],
  );
  if (rows.length > 0) await ack(a, rows[0].batch_id);
  return rows.map(({ payload }) => payload.length);
}

const sendSizes = (...sizes: number[]): Promise<void> => send(a, ...sizes.map((size) => "x".repeat(size)));

test("a receive ends with the message that reaches max_bytes, and the next goes on behind it", async () => {
  await makeQueue(a);
  await sendSizes(10, 20, 30, 100_000, 5, 5);
  expect(await receive(30)).toEqual([10, 20]);
  expect(await receive(31)).toEqual([30, 100_000]);
  await sendSizes(7);
  expect(await receive(5)).toEqual([5]);
  expect(await receive(6)).toEqual([5]);
  expect(await receive(100)).toEqual([7]);
  expect(await receive(100)).toEqual([]);
});

test("without, or with more than there is, it brings as many as before", async () => {
  await makeQueue(a);
  await sendSizes(10, 20, 30);
  expect(await receive(null, 2)).toEqual([10, 20]);
  await sendSizes(40);
  expect(await receive(2 ** 31 - 1)).toEqual([30]);
  expect(await receive(2 ** 31 - 1)).toEqual([40]);
});

test("it counts bytes, not characters", async () => {
  await makeQueue(a);
  await send(a, "éé", "éé", "éé");
  expect(await receive(5)).toEqual([2, 2]);
});

test("messages without a payload count as nothing", async () => {
  await makeQueue(a);
  await a.query("select pgque.send('q', 't', payload) from unnest(array[null, '12345', '6', null]) as p(payload)");
  const received = async (): Promise<string[]> => {
    const { rows } = await a.query("select * from pgque.receive_messages('q', 'c', max_bytes => 5)");
    return rows.map(({ payload }) => payload);
  };
  expect(await received()).toEqual([null, "12345"]);
  expect(await received()).toEqual(["6", null]);
});

test("a receive of late messages, and one of a lane, are bounded too", async () => {
  await makeQueue(a, ["c"], { priorities: 2 });
  const late = await database.connect();
  await late.query("begin");
  await late.query("select pgque.send('q', 't', 'late 1'), pgque.send('q', 't', 'late 2')");
  await sendSizes(10, 11);
  expect(await receive(1)).toEqual([10]);
  await late.query("commit");
  expect(await receive(1)).toEqual([11]);
  expect(await receive(1)).toEqual([6]);
  expect(await receive(1)).toEqual([6]);
  expect(await receive(1)).toEqual([]);
});

test("a bound of nothing is refused", async () => {
  await makeQueue(a);
  await expect(receive(0)).rejects.toMatchObject({
    code: "PQ004",
    message: "expected max_bytes to be an integer from 1 to 2147483647, or null, got: 0",
  });
});
