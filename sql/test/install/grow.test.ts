import { install, plan, validate } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { nextRelease, nextVersion } from "../../../test/support/next-release.ts";
import { until } from "../../../test/support/until.ts";
import { drain, makeQueue, ring, send } from "../support/queue.ts";

// A ring that grows and an installer both make tables of a queue and functions for them: they exclude each other.

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a);
});
afterEach(() => database.drop());

const grow = async (client: pg.Client, segment: number): Promise<boolean> =>
  (await client.query("select pgque.grow_ring(1, $1) as grown", [segment])).rows[0].grown;

/** The segment that takes inserts is the last one, and it takes them. */
async function expectOfNextVersion(segments: number): Promise<void> {
  expect(await validate(a, { release: nextRelease })).toEqual([]);
  expect((await ring(a)).bytes).toHaveLength(segments);
  await a.query("select setval('pgque.segment_pointer_1', pgque.pointer_to($1))", [segments - 1]);
  await send(a, "in the new segment");
  expect(await drain(a)).toEqual(["in the new segment"]);
}

test("an installer waits for a ring that grows, a moment at a time, and migrates the new segment", async () => {
  const pid = await backendPid(b);
  await a.query("begin");
  expect(await grow(a, 3)).toBe(true);
  const installed = install(b, { release: nextRelease });
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await observer.query("select wait_event from pg_stat_activity where pid = $1", [pid]);
    return rows[0].wait_event === "advisory";
  };
  await until(isWaiting, "the installer waits");
  await until(async () => !(await isWaiting()), "it has given up for now");
  await a.query("commit");
  expect(await installed).toEqual({ installed: true, version: nextVersion });
  await expectOfNextVersion(4);
});

test("a ring does not grow beside a transaction of an installer, and grows between two of them", async () => {
  const { steps } = await plan(b, { release: nextRelease });
  let segments = 3;
  for (const { what, sql } of steps) {
    const open = sql.replace(/commit;\s*$/, "");
    expect(open).not.toBe(sql);
    await b.query(open);
    expect(await grow(a, segments), `during ${what}`).toBe(false);
    await b.query("commit");
    expect(await grow(a, segments), `after ${what}`).toBe(true);
    segments += 1;
  }
  expect(segments).toBe(6);
  await expectOfNextVersion(segments);
});
