import type { Pool, ClientBase } from "pg";
import type { Holder } from "./holder.ts";
import { preparedTransactions, replicationSlots, standbys, transactions } from "./queries.ts";

/** Every holder there is, as one query whose rows are `Holder`s: the one that holds back most first. */
export const holdersSql = allOf([transactions, preparedTransactions, replicationSlots, standbys]);

/** Everybody who holds the horizon of this database just now, short statements included: who holds back most first. */
export async function findHolders(client: ClientBase | Pool): Promise<Holder[]> {
  const { rows } = await client.query<Holder>(holdersSql);
  const subscriptions = await retainingSubscriptions(client);
  if (subscriptions.length === 0) return rows;
  const endsWith = subscriptions
    .map((name) => `alter subscription ${name} set (retain_dead_tuples = false)`)
    .join("; ");
  return rows.map((holder) => (holder.name === "pg_conflict_detection" ? { ...holder, endsWith } : holder));
}

/** The same of transactions alone. */
export async function findTransactions(client: ClientBase | Pool): Promise<Holder[]> {
  const { rows } = await client.query<Holder>(allOf([transactions]));
  return rows;
}

function allOf(queries: readonly string[]): string {
  return `
    select * from (${queries.join("\n    union all")}
    ) as h(kind, name, holds, "ageTransactions", "ageMs", "isActive", details, "endsWith", "endsWhere")
     order by holds desc, "ageTransactions" desc, "ageMs" desc nulls last, name`;
}

/** Subscriptions of this database with retain_dead_tuples, by name: none before PostgreSQL 19, which has the column. */
async function retainingSubscriptions(client: ClientBase | Pool): Promise<string[]> {
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
