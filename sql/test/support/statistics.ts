import type pg from "pg";

/** Changed by people alone: creating, configuring and dropping queues and consumers. */
const registry = ["meta", "queue", "consumer"];

export interface TableStatistics {
  table: string;
  updated: number;
  deleted: number;
}

/** The tables of the schema outside the registry that saw an update or a delete. */
export async function updatesAndDeletes(client: pg.Client): Promise<TableStatistics[]> {
  await client.query("select pg_stat_clear_snapshot()");
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

/** Rows ever inserted into message tables, those of rolled-back transactions included: tells when all statistics have arrived. */
export async function messagesInserted(client: pg.Client): Promise<number> {
  await client.query("select pg_stat_clear_snapshot()");
  const { rows } = await client.query(
    "select coalesce(sum(n_tup_ins), 0)::int as inserted from pg_stat_all_tables where schemaname = 'pgque' and relname like 'message\\_%'",
  );
  return rows[0].inserted;
}
