import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, drain, fillRing, maintain, makeQueue, receive } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

test("a page of a window reads the segment it lies in, not the ring", async () => {
  await makeQueue(a, ["c"]);
  const pages: number[] = [];
  for (const segments of [4, 14]) {
    await fillRing(a, segments);
    // the window is taken, and looked into
    for (let i = 0; i < 2; i += 1) await ack(b, (await receive(b, "c", 30)).batch);
    const least: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      const { rows } = await b.query(
        "explain (analyze, buffers, format json) select * from pgque.receive_messages('q', 'c', null, 30)",
      );
      least.push(rows[0]["QUERY PLAN"][0].Plan["Shared Hit Blocks"]);
    }
    pages.push(Math.min(...least));
    await drain(b);
    for (let i = 0; i < 20; i += 1) await maintain(a);
  }
  const [few = 0, many = 0] = pages;
  expect(many).toBeLessThan(1.5 * few);
});
