import type pg from "pg";

/** Changed by people alone: creating, configuring and dropping queues, consumers and schedules. */
const registry = ["meta", "cluster_identity", "queue", "consumer", "subconsumer", "schedule"];

export interface TableStatistics {
  table: string;
  updated: number;
  deleted: number;
}

/** The tables of the schema outside the registry that saw an update or a delete. Those of other sessions count once they have ended. */
export async function updatesAndDeletes(client: pg.Client): Promise<TableStatistics[]> {
  await freshStatistics(client);
  const { rows } = await client.query(
    `select relname as "table", n_tup_upd::int as updated, n_tup_del::int as deleted
       from pg_stat_all_tables
      where (schemaname = 'pgque' or relid in (
              select c.reltoastrelid from pg_class c where c.relnamespace = 'pgque'::regnamespace))
        and relname <> all ($1)
        and n_tup_upd + n_tup_del > 0`,
    [registry],
  );
  return rows;
}

/** What this session has done goes into the statistics at once, not within seconds; PostgreSQL 14 cannot. */
async function freshStatistics(client: pg.Client): Promise<void> {
  const { rows } = await client.query("select to_regproc('pg_stat_force_next_flush') is not null as can");
  if (rows[0].can) await client.query("select pg_stat_force_next_flush()");
  await client.query("select pg_stat_clear_snapshot()");
}

/** Rows of this database's system catalog that were updated or deleted: each has left a dead one. */
export async function catalogChanges(client: pg.Client): Promise<number> {
  await client.query("select pg_stat_clear_snapshot()");
  const { rows } = await client.query(
    `select sum(s.n_tup_upd + s.n_tup_del)::int as changed
       from pg_stat_sys_tables s
       join pg_class c on c.oid = s.relid
      -- what is shared counts what is done in other databases: dropping one takes its grants to roles away
      where s.schemaname = 'pg_catalog' and not c.relisshared`,
  );
  return rows[0].changed;
}

/** Rows ever inserted into message tables, those of rolled-back transactions included: tells when all statistics have arrived. */
export async function messagesInserted(client: pg.Client): Promise<number> {
  await client.query("select pg_stat_clear_snapshot()");
  const { rows } = await client.query(
    "select coalesce(sum(n_tup_ins), 0)::int as inserted from pg_stat_all_tables where schemaname = 'pgque' and relname like 'message\\_%'",
  );
  return rows[0].inserted;
}

/** Buffers that a receive of `max` messages touches, planning included, and how many it returned. */
export async function buffersOfReceive(client: pg.Client, max = 100): Promise<{ buffers: number; messages: number }> {
  const { buffers, rows } = await touched(
    client,
    `select * from pgque.receive_messages('q', 'c', max_messages => ${max})`,
  );
  return { buffers, messages: rows };
}

/** Buffers that a query of a function touches, planning included. */
export async function buffersOf(client: pg.Client, query: string): Promise<number> {
  return (await touched(client, query)).buffers;
}

/**
 * The least of three in a row: now and then one of them rebuilds the session's caches, because sessions of other tests have flooded the
 * queue of invalidations.
 */
async function touched(client: pg.Client, query: string): Promise<{ buffers: number; rows: number }> {
  let least = { buffers: Number.POSITIVE_INFINITY, rows: 0 };
  for (let i = 0; i < 3; i++) {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${query}`);
    const plan = rows[0]["QUERY PLAN"][0].Plan;
    const buffers: number = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    if (buffers < least.buffers) least = { buffers, rows: plan["Actual Rows"] };
  }
  return least;
}
