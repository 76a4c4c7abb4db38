import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";

const database = await freshDatabase();
const client = await database.connect();
afterAll(() => database.drop());

const seconds = async (call: string): Promise<number[]> =>
  (
    await client.query(`select extract(epoch from pgque.backoff(${call}))::float8 as s from generate_series(1, 7) as n`)
  ).rows.map(({ s }) => s);

test("doubles with each attempt up to the longest; with factor 1 it is fixed", async () => {
  expect(await seconds("n, '1 s', most => '30 s', jitter => 0")).toEqual([1, 2, 4, 8, 16, 30, 30]);
  expect(await seconds("n, '5 s', factor => 1, jitter => 0")).toEqual([5, 5, 5, 5, 5, 5, 5]);
  expect(await seconds("n + 32000, '1 s', factor => 1000, jitter => 0")).toEqual(Array(7).fill(3600));
});

test("jitter takes something off", async () => {
  for (const s of await seconds("n + 20, '1 s', jitter => 0.5")) {
    expect(s).toBeGreaterThanOrEqual(1800);
    expect(s).toBeLessThan(3600);
  }
});

test.each([
  "0",
  "null",
  "1, '-1 s'",
  "1, '2 s', most => '1 s'",
  "1, factor => 0.5",
  "1, jitter => 2",
  "1, jitter => 'nan'",
])("backoff(%s) is refused", async (call) => {
  await expect(seconds(call)).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringContaining("expected an attempt from 1"),
  });
});
