import type pg from "pg";
import { Latencies } from "./histogram.ts";
import { paced } from "./pace.ts";

/** An application's own table, which has nothing to do with the queue but shares its server. */
export async function createBystanderTable(admin: pg.Client, rows: number): Promise<void> {
  await admin.query("create schema bystander");
  await admin.query(`
    create table bystander.account as
      select id, 0 as balance, repeat('x', 40) as filler from generate_series(1, ${rows}) as id`);
  await admin.query("alter table bystander.account add primary key (id)");
  // Hint bits and statistics now, not while something is measured.
  await admin.query("vacuum (analyze) bystander.account");
}

/**
 * Reads one random row by primary key, so many times a second, open loop. It only reads: an UPDATE would suffer from the
 * held horizon by itself, whatever the queue does.
 */
export async function bystand(
  client: pg.Client,
  options: { rows: number; perSecond: number; latency: Pick<Latencies, "record"> },
  signal: AbortSignal,
): Promise<void> {
  const schedule = { startMs: performance.now(), everyMs: 1000 / options.perSecond, endMs: Number.POSITIVE_INFINITY };
  const lateness = new Latencies();
  const read = async (dueMs: number): Promise<void> => {
    const id = 1 + Math.floor(Math.random() * options.rows);
    await client.query({ name: "read", text: "select balance from bystander.account where id = $1", values: [id] });
    options.latency.record(performance.now() - dueMs);
  };
  await paced(schedule, read, lateness, signal);
}
