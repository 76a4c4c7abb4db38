import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { drain, maintain, makeQueue } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";
import { run, rotate, rotateForDays, schedule, stored, timeAgo } from "./support.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a);
  await schedule(a);
});
afterEach(() => database.drop());

const call = "select pgque.run_schedule('s', $1) as id";

describe("between a scheduled run and the truncation of its table", () => {
  /** Two days on, at noon, when today's table rests. */
  const whenItRests = "date_trunc('day', clock_timestamp()) + interval '2 days 12 hours'";
  const truncate = async (client: pg.Client): Promise<number> =>
    (await client.query(`select pgque.rotate_scheduled_runs(${whenItRests}) as done`)).rows[0].done;
  const today = async (): Promise<string> =>
    (await a.query("select date_trunc('second', clock_timestamp())::text as at")).rows[0].at;

  test("the truncation gives way to a scheduled run that has not committed, and the scheduled run counts", async () => {
    const at = await today();
    await a.query("begin");
    await run(a, at);
    expect(await truncate(b), "a holds the table").toBe(0);
    await a.query("commit");
    expect(await run(b, at)).toBeNull();
    expect(await truncate(b)).toBe(1);
  });

  test("the scheduled run waits for nobody when the table that is truncated is another day's", async () => {
    const at = await today();
    await a.query(
      "insert into pgque.scheduled_run (segment, schedule, run_at) select n, 's', now() - interval '2 days' from generate_series(0, 3) as n",
    );
    await b.query("begin");
    await b.query("select pgque.rotate_scheduled_runs(date_trunc('day', clock_timestamp()) + interval '12 hours')");
    expect((await stored(b)).runs, "one table is empty, and its last scheduled run is in another").toBe(3);
    expect(await run(a, at)).not.toBeNull();
    await b.query("commit");
    expect(await run(b, at)).toBeNull();
  });

  test("a caller that was in time, and waits until the scheduled run is forgotten, is refused: it cannot know of it", async () => {
    await a.query(
      "create or replace function pgque.scheduled_run_memory() returns interval language sql immutable return interval '1 s'",
    );
    const at = await timeAgo(a, "-1 s");
    expect(await run(a, at), "a has run it").not.toBeNull();
    await observer.query("begin");
    await observer.query("select pg_advisory_xact_lock(pgque.scheduled_run_key('s', $1))", [at]);
    const late = await blocked(observer, b, call, [at]);
    await until(async () => (await rotate(a)) === 1, "its table has been truncated");
    await observer.query("commit");
    await expect(late.result).rejects.toMatchObject({
      code: "PQ004",
      message: expect.stringContaining("expected run_at to be at most"),
    });
    expect(await drain(a), "sent once").toEqual(["wake up"]);
  });
});

describe("the ring of runs", () => {
  test("reclaims space once a table's day is forgotten, and remembers the last scheduled run of each schedule", async () => {
    await schedule(a, {}, "rare");
    const rare = await timeAgo(a, "20 hours");
    await run(a, rare, "rare");
    await a.query(
      `select pgque.run_schedule('s', date_trunc('second', clock_timestamp()) - n * interval '1 min') from generate_series(1, 1400) as n`,
    );
    const before = await stored(a);
    expect(await rotate(a), "remembered").toBe(0);
    expect(await stored(a)).toEqual(before);
    await rotateForDays(a);
    const after = await stored(a);
    expect(after.runs).toBe(2);
    expect(after.bytes).toBeLessThan(before.bytes / 2);
    const { rows } = await a.query("select name, last_run_at from pgque.schedules() where name = 'rare'");
    expect(rows).toEqual([{ name: "rare", last_run_at: new Date(rare) }]);
    expect(await updatesAndDeletes(a)).toEqual([]);
  });

  test("forgets the runs of a schedule that is gone", async () => {
    await run(a, await timeAgo(a, "1 minute"));
    await a.query("select pgque.unschedule('s')");
    await rotateForDays(a);
    expect(await stored(a)).toEqual({ runs: 0, bytes: 0 });
  });

  test("keeps, whatever the hour, every time that may still be run", async () => {
    const { rows } = await a.query(
      `select count(*)::int as lost
         from generate_series('2026-01-01'::timestamptz, '2026-01-06', '19 min') as now,
              generate_series(now - pgque.scheduled_run_memory() - interval '1 hour', now + interval '1 min', '19 min') as run_at
        where pgque.scheduled_run_segment(now - pgque.scheduled_run_memory() - interval '1 hour') <> (pgque.scheduled_run_segment(now) + 2) % 4
          and pgque.scheduled_run_segment(run_at) = (pgque.scheduled_run_segment(now) + 2) % 4`,
    );
    expect(rows).toEqual([{ lost: 0 }]);
  });

  test("is rotated by maintain, which writes nothing otherwise", async () => {
    await a.query("begin");
    await maintain(a);
    const { rows: xid } = await a.query("select pg_current_xact_id_if_assigned() as id");
    await a.query("commit");
    expect(xid).toEqual([{ id: null }]);
    await a.query(
      `create or replace function pgque.scheduled_run_segment(run_at timestamptz) returns int language sql immutable
        return case when run_at > clock_timestamp() - interval '1 s' then 2 when run_at > clock_timestamp() - interval '1 hour' then 0 else 3 end`,
    );
    await run(a, await timeAgo(a, "1 minute"));
    expect(await maintain(a)).toBeGreaterThan(0);
    const { rows } = await a.query("select pg_relation_size('pgque.scheduled_run_0')::int as bytes");
    expect(rows).toEqual([{ bytes: 0 }]);
  });
});
