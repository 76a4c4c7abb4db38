import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { holdBySlot } from "../../../test/support/standby.ts";
import { until } from "../../../test/support/until.ts";
import { drain, fillSegment, maintain, makeQueue, ring, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: OwnServer;
let worker: pg.Client;
let holder: pg.Client;

beforeAll(async () => {
  database = await ownServer();
  [worker, holder] = [await database.connect(), await database.connect()];
  await worker.query("create table public.elsewhere (i int)");
});
beforeEach(async () => {
  await worker.query("select pgque.drop_queue('q', true)");
  await makeQueue(worker);
});
afterAll(() => database.drop());

const run = async (statements: string[]): Promise<void> => {
  for (const statement of statements) await holder.query(statement);
};

/** Holds the horizon until the function that it returns is called. */
const holders: Record<string, () => Promise<() => Promise<void>>> = {
  async "a snapshot without a transaction id"() {
    await run(["begin isolation level repeatable read", "select count(*) from public.elsewhere"]);
    return () => run(["commit"]);
  },
  async "an idle transaction with a transaction id"() {
    await run(["begin", "insert into public.elsewhere values (1)"]);
    return () => run(["commit"]);
  },
  async "a prepared transaction"() {
    await run(["begin", "insert into public.elsewhere values (1)", "prepare transaction 'held'"]);
    return () => run(["commit prepared 'held'"]);
  },
  async "the slot of a standby that sends feedback"() {
    const slot = await holdBySlot(database.url, holder);
    return () => slot.drop();
  },
};

describe("With the horizon held for the whole run, drained segments are truncated and disk use stays bounded", () => {
  test.each(Object.keys(holders))("by %s", async (name) => {
    const letGo = await holders[name]?.();
    const held = await oldestHeld();
    const sizes: number[] = [];
    for (let round = 0; round < 10; round++) {
      const sent = await fillSegment(worker, `round ${round}`);
      expect(await drain(worker)).toEqual(sent);
      await maintain(worker);
      expect((await ring(worker)).bytes).toHaveLength(3);
      sizes.push(await diskBytes());
    }
    expect(await oldestHeld(), "the same transaction holds the horizon all the time").toBe(held);
    // two full segments with their indexes and a batch of each; ten would be more than a megabyte
    expect(Math.max(...sizes)).toBeLessThan(500_000);
    await letGo?.();
    expect(await updatesAndDeletes(worker)).toEqual([]);
  });

  test("by an idle transaction that has sent a message itself, which arrives when it commits", async () => {
    await holder.query("begin");
    await send(holder, "of the holder");
    const sizes: number[] = [];
    for (let round = 0; round < 10; round++) {
      const sent = await fillSegment(worker, `round ${round}`);
      expect(await drain(worker)).toEqual(sent);
      for (let i = 0; i < 2; i++) await maintain(worker);
      sizes.push(await diskBytes());
    }
    // its own segment is kept, the others are truncated
    expect((await ring(worker)).bytes[0]).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThan(500_000);
    await holder.query("commit");
    expect(await drain(worker)).toEqual(["of the holder"]);
    await maintain(worker);
    expect((await ring(worker)).bytes[0]).toBe(0);
  });
});

describe("a dump: an exported snapshot and ACCESS SHARE on every table", () => {
  test("makes the ring grow, holds up no sender and no receiver, is named, and then the space is given back", async () => {
    const { rows: tables } = await worker.query(
      "select string_agg(oid::regclass::text, ', ') as all from pg_class where relnamespace = 'pgque'::regnamespace and relkind in ('r', 'p')",
    );
    const statements = ["begin isolation level repeatable read", "select pg_export_snapshot()"];
    await run([...statements, `lock table ${tables[0].all} in access share mode`]);
    // what waits for a lock fails
    await worker.query("set statement_timeout = '5s'");
    for (let round = 0; round < 6; round++) {
      const sent = await fillSegment(worker, `round ${round}`);
      expect(await drain(worker)).toEqual(sent);
      for (let i = 0; i < 3; i++) await maintain(worker);
    }
    const { bytes } = await ring(worker);
    expect(bytes.length, "the ring has grown").toBeGreaterThan(3);
    expect(
      bytes.slice(0, 3).every((size) => size > 0),
      "what the dump reads is there",
    ).toBe(true);
    const blocker = expect.stringMatching(
      new RegExp(`^process ${await backendPid(holder)} \\(.*\\) holds a lock on it since `),
    );
    await until(async () => (await waitsFor(0)).length > 0, "the dump is named");
    expect(await waitsFor(0)).toEqual([blocker]);

    await holder.query("commit");
    while ((await maintain(worker)) > 0);
    const after = await ring(worker);
    expect(after.bytes.filter((size, segment) => size > 0 && segment !== after.current)).toEqual([]);
    await fillSegment(worker);
    await maintain(worker);
    expect((await ring(worker)).current, "rotation serves the segments that the dump held").toBeLessThan(3);
    await worker.query("reset statement_timeout");
  });
});

/** The oldest transaction id that somebody else may still see: a snapshot's, a writer's, a prepared one's or a slot's. */
async function oldestHeld(): Promise<string> {
  const { rows } = await worker.query(
    `select xmin::text from (
       select backend_xmin as xmin from pg_stat_activity where pid <> pg_backend_pid()
       union all select backend_xid from pg_stat_activity where pid <> pg_backend_pid()
       union all select transaction from pg_prepared_xacts
       union all select xmin from pg_replication_slots
     ) held where xmin is not null order by age(xmin) desc limit 1`,
  );
  expect(rows, "somebody holds the horizon").toHaveLength(1);
  return rows[0].xmin;
}

/** What the queue's tables take on disk, with indexes and TOAST. */
async function diskBytes(): Promise<number> {
  const { rows } = await worker.query(
    "select sum(pg_total_relation_size(oid))::int as bytes from pg_class where relnamespace = 'pgque'::regnamespace and relkind = 'r' and relname ~ '_1_[0-9]+$'",
  );
  return rows[0].bytes;
}

async function waitsFor(segment: number): Promise<string[]> {
  const { rows } = await worker.query("select waits_for from pgque.segment_status('q') where segment = $1", [segment]);
  return rows[0].waits_for;
}
