import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { drain, fillRing, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

async function xidOf(client: pg.Client, work: () => Promise<unknown>): Promise<string | null> {
  await client.query("begin");
  await work();
  const { rows } = await client.query("select pg_current_xact_id_if_assigned()::text as id");
  await client.query("commit");
  return rows[0].id;
}

/** Locks on relations that a call of maintenance holds at its end. */
async function locksOf(call: string): Promise<number> {
  await a.query("begin");
  await a.query(call);
  const { rows } = await a.query(
    "select count(*)::int as locks from pg_locks where pid = pg_backend_pid() and locktype = 'relation'",
  );
  await a.query("commit");
  return rows[0].locks;
}

describe("A ring", () => {
  test("does not grow by age: few messages that nobody receives stay in the last segment", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000, rotation_period: "1 ms" });
    for (let n = 0; n < 20; n += 1) {
      await send(a, `message ${n}`);
      await maintain(a);
    }
    expect((await ring(a)).bytes).toHaveLength(3);
    expect(await drain(a)).toEqual(Array.from({ length: 20 }, (_, n) => `message ${n}`));
  });

  test("has few segments however much is kept: one more when the last holds as much as all others together", async () => {
    await makeQueue(a, ["earliest", "latest"]);
    for (let n = 0; n < 100; n += 1) {
      await fillSegment(a, `${n}`);
      await drain(a, "latest");
      for (let i = 0; i < 2; i += 1) await maintain(a);
    }
    const { bytes } = await ring(a);
    // 100 times what a segment holds at least: three, and one for each doubling
    expect(bytes.length).toBeGreaterThan(4);
    expect(bytes.length).toBeLessThanOrEqual(3 + Math.ceil(Math.log2(100)));
    expect(await locksOf("select pgque.maintain('q')")).toBeLessThan(100);
    expect(await drain(a, "earliest")).toHaveLength(10_000);
    for (let i = 0; i < 12; i += 1) await maintain(a);
    expect((await ring(a)).bytes.filter((size) => size > 0)).toHaveLength(1);
  });

  test("that cannot grow stops neither delivery nor recovery, warns less and less often, and is named", async () => {
    await makeQueue(a, ["c"]);
    await a.query(`
      create function public.refuse() returns event_trigger language plpgsql as $$ begin raise exception 'no DDL here'; end $$;
      create event trigger refuse on ddl_command_start when tag in ('CREATE TABLE') execute function public.refuse()`);
    const warnings: string[] = [];
    a.on("notice", ({ message }) => warnings.push(message ?? ""));
    for (let n = 0; n < 3; n += 1) {
      await fillSegment(a);
      await maintain(a);
    }
    for (let n = 0; n < 3; n += 1) await fillSegment(a);
    const open = await receive(a, "c", 5, "1 ms");
    await a.query(`select pgque.send('q', 'default', 'delayed', '{"delay": 0.001}')`);
    for (let n = 0; n < 3; n += 1) await maintain(a);
    expect(warnings).toEqual(["queue 'q': adding a segment failed: no DDL here"]);
    const { rows } = await a.query("select queue_name, step, message from pgque.maintenance_problems()");
    expect(rows).toEqual([{ queue_name: "q", step: "grow", message: "no DDL here" }]);
    const got = await drain(a);
    expect(got).toContain("delayed");
    expect(got).toEqual(expect.arrayContaining(open.payloads));

    await a.query("drop event trigger refuse");
    for (let n = 0; n < 3; n += 1) await maintain(a);
    expect((await a.query("select from pgque.maintenance_problems()")).rows, "it has moved on since").toEqual([]);
  });

  test("does not grow while the schema is being changed: the segment would be one of the version before", async () => {
    await makeQueue(a, ["c"]);
    await b.query("begin");
    await b.query("select pg_advisory_xact_lock(pgque.lock_key('registry', 0))");
    for (let n = 0; n < 3; n += 1) {
      await fillSegment(a);
      await maintain(a);
    }
    for (let n = 0; n < 3; n += 1) await fillSegment(a);
    await maintain(a);
    expect((await ring(a)).bytes).toHaveLength(3);
    await b.query("commit");
    await maintain(a);
    expect((await ring(a)).bytes).toHaveLength(4);
  });
});

describe("Maintenance", () => {
  test("reads once in a call where consumers have got to and what each segment holds, however many there are", async () => {
    await makeQueue(a, ["forgotten", "latest"]);
    await fillRing(a, 8);
    await drain(a, "latest");
    await maintain(a);
    await a.query("set track_functions = 'all'");
    await a.query("begin");
    await maintain(a);
    const { rows } = await a.query(
      `select funcname, calls::int from pg_stat_xact_user_functions
        where schemaname = 'pgque' and funcname in ('cursors', 'consumer_positions', 'ring_segments', 'segment_bytes', 'segment_is_received')
        order by funcname`,
    );
    await a.query("commit");
    expect(rows).toEqual([
      { funcname: "consumer_positions", calls: 1 },
      { funcname: "ring_segments", calls: 1 },
      { funcname: "segment_is_received", calls: 1 },
    ]);
  });

  test("burns no transaction id while a reader holds a drained segment, but for an attempt now and then", async () => {
    await makeQueue(a);
    await fillSegment(a);
    await maintain(a);
    await drain(a);
    await b.query("begin; lock table pgque.message_1_0 in access share mode");
    // the next attempt is far off
    await a.query(
      "select setval('pgque.lock_attempts_1', (((extract(epoch from clock_timestamp()) * 1000)::bigint + 20000) << 6) | 10)",
    );
    while ((await maintain(a)) > 0);
    for (let n = 0; n < 3; n += 1) expect(await xidOf(a, () => maintain(a))).toBeNull();
    await b.query("commit");
    await maintain(a);
    expect((await ring(a)).bytes[0], "at once when the reader is gone").toBe(0);
  });

  test("of a queue at rest takes no transaction id and reads a few sequences, and looks again after whatever happens", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000 });
    const isDue = async (): Promise<boolean> =>
      (await a.query("select pgque.queues_to_maintain(array['q']) = array['q'] as due")).rows[0].due;
    expect(await isDue(), "a new queue").toBe(false);
    await send(a, "x");
    expect(await isDue(), "nobody has received it").toBe(true);
    await maintain(a);
    expect(await isDue()).toBe(true);
    const got = await receive(a);
    await maintain(a);
    expect(await isDue(), "a batch is open").toBe(true);
    await a.query("select pgque.ack($1)", [got.batch]);
    await maintain(a);
    expect(await isDue()).toBe(false);
    expect(await xidOf(a, () => maintain(a))).toBeNull();
    expect(await locksOf("select pgque.maintain('q')")).toBeLessThan(30);
    await send(a, "y");
    expect(await isDue()).toBe(true);
    expect(await drain(a)).toEqual(["y"]);
    expect(await isDue()).toBe(true);
  });

  test("of a queue at rest comes again when its segment has taken inserts for long enough", async () => {
    await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000, rotation_period: "1 hour" });
    await send(a, "x");
    await drain(a);
    await maintain(a);
    expect(await maintain(a)).toBe(0);
    await a.query(
      "select setval('pgque.idle_1', ((extract(epoch from clock_timestamp())::bigint - 1) << 31) | pgque.activity_of(1))",
    );
    await a.query(
      "select setval('pgque.segment_pointer_1', (((extract(epoch from clock_timestamp()) - 3601) * 1000)::bigint << 10))",
    );
    expect(await maintain(a)).toBeGreaterThan(0);
    expect((await ring(a)).current).toBe(1);
  });

  test("delivers what is due in a transaction that holds nothing of a queue's maintenance", async () => {
    await makeQueue(a);
    // another session maintains the queue, and takes its time
    await b.query("begin");
    await b.query("select pg_advisory_xact_lock(pgque.lock_key('maintain', 1))");
    await fillSegment(a);
    await b.query("select pgque.maintain_queue('q')");
    // what is due before it is stored is sent at once
    await a.query(`select pgque.send('q', 'default', 'delayed', '{"delay": 0.5}')`);
    await until(async () => (await a.query("select pgque.deliver_due() as n")).rows[0].n === 1, "it is delivered");
    expect(await drain(a)).toContain("delayed");
    await b.query("commit");
  });
});
