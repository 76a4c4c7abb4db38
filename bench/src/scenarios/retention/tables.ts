import type pg from "pg";

/** Of one unit of scale, as with pgbench. */
export const perScale = { branches: 1, tellers: 10, accounts: 100_000 };

/** What a transaction updates, in the order of the tables. */
export const updatedTables = ["accounts", "tellers", "branches"] as const;
export type UpdatedTable = (typeof updatedTables)[number];

export const tpcbSchema = "tpcb";
/** What its sessions are called. */
export const tpcbRole = "pgque bench tpcb";

/** The tables of pgbench, filled as it fills them, keys and VACUUM included. */
export async function prepareTpcb(admin: pg.Client, scale: number): Promise<void> {
  const { branches, tellers, accounts } = perScale;
  await admin.query(`
    create schema tpcb;
    create table tpcb.branches (bid int not null, bbalance int, filler char(88));
    create table tpcb.tellers (tid int not null, bid int, tbalance int, filler char(84));
    create table tpcb.accounts (aid int not null, bid int, abalance int, filler char(84));
    create table tpcb.history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
    insert into tpcb.branches select n, 0, '' from generate_series(1, ${branches * scale}) as n;
    insert into tpcb.tellers select n, (n - 1) / ${tellers} + 1, 0, '' from generate_series(1, ${tellers * scale}) as n;
    insert into tpcb.accounts select n, (n - 1) / ${accounts} + 1, 0, '' from generate_series(1, ${accounts * scale}) as n;
    alter table tpcb.branches add primary key (bid);
    alter table tpcb.tellers add primary key (tid);
    alter table tpcb.accounts add primary key (aid);`);
  await admin.query("vacuum (analyze) tpcb.branches, tpcb.tellers, tpcb.accounts, tpcb.history");
}

/** What the server has counted of one table. */
export interface TableCounts {
  updates: number;
  hotUpdates: number;
  indexScans: number;
  /** Entries that index scans have read, those of dead row versions included. */
  entriesRead: number;
  /** Rows that index scans have found alive in the table. */
  heapFetches: number;
}

export type TpcbCounts = Record<UpdatedTable, TableCounts>;

const counts = `
  select t.relname as name,
         t.n_tup_upd::float8 as "updates",
         t.n_tup_hot_upd::float8 as "hotUpdates",
         t.idx_scan::float8 as "indexScans",
         (select sum(i.idx_tup_read)::float8 from pg_stat_all_indexes i where i.relid = t.relid) as "entriesRead",
         t.idx_tup_fetch::float8 as "heapFetches"
    from pg_stat_all_tables t
   where t.schemaname = 'tpcb'
     and t.relname = any($1)`;

export async function tpcbCounts(admin: pg.Client): Promise<TpcbCounts> {
  const { rows } = await admin.query<TableCounts & { name: UpdatedTable }>(counts, [updatedTables]);
  return Object.fromEntries(rows.map(({ name, ...table }) => [name, table])) as TpcbCounts;
}

/** One for each transaction. */
export async function historyRows(admin: pg.Client): Promise<number> {
  const { rows } = await admin.query<{ count: number }>("select count(*)::float8 as count from tpcb.history");
  return rows[0]?.count ?? Number.NaN;
}

/** Whether the sessions of the load are gone: what they have counted is handed in before. */
export async function sessionsGone(admin: pg.Client): Promise<boolean> {
  const { rows } = await admin.query(
    "select from pg_stat_activity where application_name = $1 and datname = current_database()",
    [tpcbRole],
  );
  return rows.length === 0;
}

/** Of each table. */
const lookUps = 100;

const keys = { accounts: "aid", tellers: "tid", branches: "bid" };

interface Explained {
  "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } }];
}

/**
 * How many pages of index and table it takes to find a row by its key, on average over random ones. Asked by a client that may only use the index, when
 * the load has stopped: the server's own count of pages has those of VACUUM in it.
 */
export async function buffersPerIndexScan(client: pg.Client, scale: number): Promise<Record<UpdatedTable, number>> {
  await client.query("set enable_seqscan = off; set enable_bitmapscan = off");
  const means: [UpdatedTable, number][] = [];
  for (const table of updatedTables) {
    let sum = 0;
    for (let n = 0; n < lookUps; n++) {
      const key = 1 + Math.floor(Math.random() * perScale[table] * scale);
      const { rows } = await client.query<Explained>(
        `explain (analyze, buffers, timing off, format json) select * from tpcb.${table} where ${keys[table]} = $1::int`,
        [key],
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan;
      sum += plan === undefined ? Number.NaN : plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    }
    means.push([table, sum / lookUps]);
  }
  return Object.fromEntries(means) as Record<UpdatedTable, number>;
}
