import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import { analytics } from "#src/horizons/analytics";
import type { Horizon } from "#src/horizons/horizon";
import { idleInTransaction } from "#src/horizons/idle-in-transaction";
import { logicalSlot } from "#src/horizons/logical-slot";
import { pgDump } from "#src/horizons/pg-dump";
import { prepared } from "#src/horizons/prepared";
import { repeatableRead } from "#src/horizons/repeatable-read";
import { standbyFeedback } from "#src/horizons/standby-feedback";
import { nothingIsLeft, siteOn, vacuumedAway, type Site } from "./support/site.ts";

const holding: Horizon[] = [repeatableRead, idleInTransaction, prepared, pgDump, standbyFeedback, analytics];
const named = (horizons: Horizon[]): [string, Horizon][] => horizons.map((horizon) => [horizon.name, horizon]);

let server: OwnServer;
let site: Site;
beforeAll(async () => {
  server = await ownServer();
});
beforeEach(async () => {
  site = await siteOn(server);
});
// a failed test must not hold anything back from the next one
afterEach(() => site.close());
afterAll(() => server.drop());

describe.each(named(holding))("%s", (_name, horizon) => {
  test("what dies while it holds survives VACUUM until it is released; then nothing is left of it", async () => {
    await horizon.check?.(site);
    const holder = await horizon.hold(site);
    await site.useTransactions(30);
    await site.makeDeadTuple();
    expect(await site.deadTuples()).toBe(1);
    const { xminAge } = await holder.prove();
    expect(xminAge).toBeGreaterThanOrEqual(30);
    await holder.release();
    await vacuumedAway(site);
    await nothingIsLeft(site.admin);
    await expect(holder.prove()).rejects.toThrow();
  });
});

describe.each(named([...holding.filter((horizon) => horizon !== prepared), logicalSlot]))("%s", (_name, horizon) => {
  test("whose session is ended while it holds is found out", async () => {
    const holder = await horizon.hold(site);
    await holder.prove();
    await site.killOthers();
    await expect(holder.prove()).rejects.toThrow(/is gone|broke off/);
    await holder.release();
    await nothingIsLeft(site.admin);
  });
});

test("a prepared transaction that somebody rolls back is found out", async () => {
  const holder = await prepared.hold(site);
  const { rows } = await site.admin.query("select gid from pg_prepared_xacts");
  await site.admin.query(`rollback prepared '${rows[0].gid}'`);
  await expect(holder.prove()).rejects.toThrow(/^the prepared transaction pgque_bench_\w+ is gone$/);
});

test("a prepared transaction holds on though every session ends", async () => {
  const holder = await prepared.hold(site);
  await (await server.connect()).query("select 1");
  await site.killOthers();
  await site.useTransactions(3);
  expect((await holder.prove()).xminAge).toBeGreaterThanOrEqual(3);
  await holder.release();
});

test("the standby goes on reporting, so that its sender does not take it for gone", async () => {
  const holder = await standbyFeedback.hold(site);
  const reported = async (): Promise<string> =>
    (await site.admin.query("select reply_time::text as at from pg_stat_replication")).rows[0].at;
  const first = await reported();
  await until(async () => (await reported()) > first, "it has reported again");
  await holder.prove();
  await holder.release();
});

test("a logical slot holds the catalogs and the WAL, and lets user tables be vacuumed", async () => {
  const holder = await logicalSlot.hold(site);
  await site.admin.query("create table public.short_lived (n int); drop table public.short_lived");
  await site.makeDeadTuple();
  await vacuumedAway(site);
  expect(await site.deadTuples("pg_catalog.pg_class")).toBeGreaterThan(0);
  const { xminAge, catalogXminAge, retainedWalBytes } = await holder.prove();
  expect(xminAge).toBeLessThan(100);
  expect(catalogXminAge).toBeGreaterThan(0);
  expect(retainedWalBytes).toBeGreaterThan(0);
  await holder.release();
  await vacuumedAway(site, "pg_catalog.pg_class");
  await nothingIsLeft(site.admin);
});

test("a dump locks what is there when it begins: that cannot be truncated, a table made later can", async () => {
  const holder = await pgDump.hold(site);
  await site.admin.query("create table public.later (n int); truncate public.later");
  await site.admin.query("set lock_timeout = '10ms'");
  for (const table of ["public.t", "pgque.queue"]) {
    await expect(site.admin.query(`truncate ${table} cascade`)).rejects.toMatchObject({ code: "55P03" });
  }
  const { rows } = await site.admin.query(
    "select count(*)::int as tables from pg_class where relkind in ('r', 'p') and relnamespace in ('public'::regnamespace, 'pgque'::regnamespace)",
  );
  expect((await holder.prove()).tablesLocked).toBe(rows[0].tables - 1);
  await holder.release();
  await site.admin.query("truncate public.t");
});

describe("analytics", () => {
  test("moves the horizon on in steps and never lets it go", async () => {
    const quick = { ...site, heldSeconds: 0.3 };
    const holder = await analytics.hold(quick);
    await site.makeDeadTuple();
    await until(async () => {
      await site.useTransactions(10);
      return ((await holder.prove()).steps?.count ?? 0) >= 3;
    }, "three queries have ended");
    // it died before the second one began
    await vacuumedAway(site);
    const { xminAge, steps } = await holder.prove();
    expect(steps?.querySeconds).toBeCloseTo(0.2);
    expect(steps?.xminAgeMin).toBeGreaterThan(0);
    // half of a query, but for what a timer may be early
    expect(steps?.ageSecondsMin).toBeGreaterThan(0.09);
    expect(xminAge).toBeGreaterThan(0);
    await holder.release();
    await nothingIsLeft(site.admin);
  });

  test("takes 120 s a query, and two thirds of a held phase that is shorter than 180 s", async () => {
    for (const [heldSeconds, querySeconds] of [
      [600, 120],
      [180, 120],
      [15, 10],
    ] as const) {
      const holder = await analytics.hold({ ...site, heldSeconds });
      expect((await holder.prove()).steps).toMatchObject({ count: 0, querySeconds });
      await holder.release();
    }
  });
});
