import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { drain, maintain, makeQueue } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

/** So many bytes that do not compress. */
const incompressible = (bytes: number): string =>
  `(select string_agg(md5(random()::text), '') from generate_series(1, ${bytes / 32}))`;

/** What is due within a minute is moved, in one call; how many rows that was. */
async function move(client = a): Promise<number> {
  const { rows } = await client.query(
    "select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '1 min')::int as moved",
  );
  return rows[0].moved;
}

async function unlimitedTime(): Promise<void> {
  await a.query(
    "create or replace function pgque.moved_time_max() returns interval language sql immutable return interval '1 day'",
  );
}

describe("a move of delayed messages", () => {
  test("ends at 16 MiB, and goes on in the next call", async () => {
    await makeQueue(a);
    await unlimitedTime();
    await a.query(
      `select pgque.send_batch('q', 'default', array_fill(${incompressible(108_000)}, array[300]), null, '{"delay": 30}')`,
    );
    const moved = [await move(), await move(), await move()];
    expect(moved[0]).toBeLessThanOrEqual(Math.ceil((16 * 1024 * 1024) / 108_000) + 4);
    expect(moved.reduce((sum, n) => sum + n)).toBe(300);
    expect(moved[1]).toBeGreaterThan(0);
  });

  test("ends with the page in which its time is over", async () => {
    await makeQueue(a);
    await a.query(
      "create or replace function pgque.moved_time_max() returns interval language sql immutable return interval '0'",
    );
    await a.query(`select pgque.send_batch('q', 'default', array_fill('x'::text, array[6000]), null, '{"delay": 30}')`);
    expect([await move(), await move(), await move(), await move()]).toEqual([2500, 2500, 1000, 0]);
  });

  test("moves a message of any size", async () => {
    await makeQueue(a, ["c"], { payload_bytes_max: 100_000_000 });
    await a.query(`select pgque.send('q', 'default', repeat('x', 40000000), '{"delay": 30}')`);
    expect(await move()).toBe(1);
  });

  test("ends at 16 MiB of what was sent late as well, in transactions that were open, and moves each message once", async () => {
    await makeQueue(a);
    await unlimitedTime();
    await b.query("begin");
    for (let n = 0; n < 3; n += 1)
      await b.query(
        `select pgque.send_batch('q', 'late', array(select n || ' late ' || ${incompressible(108_000)} from generate_series(${100 * n}, ${100 * n + 99}) n), null, '{"delay": 29}')`,
      );
    await a.query(`select pgque.send_batch('q', 'early', array['first', 'second'], null, '{"delay": 30}')`);
    expect(await move()).toBe(2);
    await b.query("commit");
    await a.query(`select pgque.send('q', 'early', 'third', '{"delay": 31}')`);
    const first = await move();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThanOrEqual(Math.ceil((16 * 1024 * 1024) / 108_000) + 4);
    // half-way through nothing counts twice
    const { rows } = await a.query("select delayed::int from pgque.queue_status('q')");
    expect(rows[0].delayed).toBe(301 - first);
    let moved = first;
    for (let n = await move(); n > 0; n = await move()) moved += n;
    expect(moved).toBe(301);
    const got = (await drain(a)).map((payload) => payload.slice(0, 10));
    expect(got).toHaveLength(303);
    expect(new Set(got.filter((payload) => payload.includes("late"))).size).toBe(300);
  });

  test("reads what it moves once, for however many queues", async () => {
    for (let n = 0; n < 40; n += 1) {
      await a.query("select pgque.create_queue($1)", [`q${n}`]);
      await a.query(`select pgque.send_batch($1, 'default', array_fill('x'::text, array[25]), null, '{"delay": 30}')`, [
        `q${n}`,
      ]);
    }
    await a.query("begin");
    expect(await move()).toBe(1000);
    // at the index on the due time once, and once at that on txid, as nothing has been moved before
    const { rows } = await a.query("select pgque.index_entries_read('pgque.delayed_soon_0')::int as entries");
    await a.query("commit");
    expect(rows[0].entries).toBeLessThan(2500);
  });

  test("of one step delivers what is due although the table is being collected", async () => {
    await makeQueue(a);
    await a.query(`select pgque.send('q', 'default', 'due', '{"delay": 0.01}')`);
    await a.query("select setval('pgque.delayed_soon_pointer', pgque.pointer_to(1)), pg_sleep(0.02)");
    await maintain(a);
    expect(await drain(a)).toEqual(["due"]);
    const { rows } = await a.query("select count(*)::int as copied from pgque.delayed_soon_1");
    expect(rows).toEqual([{ copied: 0 }]);
  });
});
