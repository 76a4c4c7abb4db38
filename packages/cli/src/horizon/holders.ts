import type { Client } from "pg";
import type { Holder } from "./holder.ts";
import { preparedTransactions, replicationSlots, standbys, transactions } from "./queries.ts";

/** Every holder there is, as one query that yields rows for `holderOf`: the one that holds back most first. */
export const holdersSql = allOf([transactions, preparedTransactions, replicationSlots, standbys]);

const transactionsSql = allOf([transactions]);

/** Everybody who holds the horizon of this database just now, short statements included: who holds back most first. */
export async function findHolders(client: Client): Promise<Holder[]> {
  const { rows } = await client.query<HolderRow>(holdersSql);
  const subscriptions = await retainingSubscriptions(client);
  return rows.map((row) => {
    const holder = holderOf(row);
    if (holder.name !== "pg_conflict_detection" || subscriptions.length === 0) return holder;
    const statements = subscriptions.map((name) => `alter subscription ${name} set (retain_dead_tuples = false)`);
    return { ...holder, endsWith: statements.join("; ") };
  });
}

/** The same of transactions alone. */
export async function findTransactions(client: Client): Promise<Holder[]> {
  const { rows } = await client.query<HolderRow>(transactionsSql);
  return rows.map(holderOf);
}

/** A row of `holdersSql`. */
export interface HolderRow {
  kind: Holder["kind"];
  name: string;
  holds: Holder["holds"];
  age_transactions: number;
  age_ms: number | null;
  is_active: boolean;
  details: Holder["details"];
  ends_with: string;
  ends_where: string | null;
}

/** What a row says. */
export function holderOf(row: HolderRow): Holder {
  return {
    kind: row.kind,
    name: row.name,
    holds: row.holds,
    ageTransactions: row.age_transactions,
    ageMs: row.age_ms,
    isActive: row.is_active,
    details: row.details,
    endsWith: row.ends_with,
    endsWhere: row.ends_where,
  };
}

function allOf(queries: readonly string[]): string {
  return `
    select * from (${queries.join("\n    union all")}
    ) as h(kind, name, holds, age_transactions, age_ms, is_active, details, ends_with, ends_where)
     order by holds desc, age_transactions desc, age_ms desc nulls last, name`;
}

/** Subscriptions of this database with retain_dead_tuples, by name: none before PostgreSQL 19, which has the column. */
async function retainingSubscriptions(client: Client): Promise<string[]> {
  const { rowCount } = await client.query(
    `select from pg_attribute
      where attrelid = 'pg_catalog.pg_subscription'::regclass and attname = 'subretaindeadtuples' and not attisdropped`,
  );
  if (rowCount === 0) return [];
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(s.subname) as name
       from pg_subscription s
       join pg_database d on d.oid = s.subdbid
      where d.datname = current_database() and s.subretaindeadtuples
      order by s.subname`,
  );
  return rows.map(({ name }) => name);
}
