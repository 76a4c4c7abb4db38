import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { drain, fillSegment, maintain, makeQueue, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

test("what everybody is done with is kept for the retention, and a consumer from an earlier time gets it again", async () => {
  await makeQueue(a, ["c"], { retention: "1 hour" });
  const sent: string[] = [];
  for (const round of ["one", "two", "three", "four", "five", "six"]) {
    sent.push(...(await fillSegment(a, round)));
    await drain(a);
    for (let i = 0; i < 3; i++) await maintain(a);
  }
  const { bytes } = await ring(a);
  expect(bytes.filter((size) => size > 0).length, "the ring has grown").toBeGreaterThan(3);
  const { rows } = await a.query("select waits_for from pgque.segment_status('q') where waits_for is not null");
  expect(rows[0].waits_for).toEqual([expect.stringMatching(/^the retention keeps it until /)]);
  await a.query(`select pgque.subscribe('q', 'replay', '{"from": "earliest", "mode": "shared"}')`);
  expect(await drain(a, "replay")).toEqual(sent);
});

test("after it the space is given back", async () => {
  await makeQueue(a, ["c"], { retention: "1 hour" });
  await fillSegment(a);
  await drain(a);
  await maintain(a);
  await send(a, "in the next segment");
  expect((await ring(a)).bytes[0]).toBeGreaterThan(0);
  await a.query("select pgque.set_queue_config('q', 'retention', '1 ms')");
  const drained: string[] = [];
  await until(async () => {
    await maintain(a);
    // what the first drain saw may have been open transactions of other tests
    drained.push(...(await drain(a)));
    return (await ring(a)).bytes[0] === 0;
  }, "it is truncated");
  expect(drained).toEqual(["in the next segment"]);
});
