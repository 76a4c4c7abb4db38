import type { Client } from "pg";
import type { Holder, HolderQuery } from "./holder.ts";
import { preparedTransactions } from "./prepared-transactions.ts";
import { replicationSlots } from "./replication-slots.ts";
import { standbys } from "./standbys.ts";
import { retainingSubscriptions } from "./subscriptions.ts";
import { transactions } from "./transactions.ts";

const kinds: readonly HolderQuery[] = [transactions, preparedTransactions, replicationSlots, standbys];

/** Every holder there is, as one query that yields rows for `holderOf`: the one that holds back most first. */
export const holdersSql = allOf(kinds);

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

function allOf(queries: readonly HolderQuery[]): string {
  return `
    select * from (${queries.map(({ sql }) => sql).join("\n    union all")}
    ) as h(kind, name, holds, age_transactions, age_ms, is_active, details, ends_with, ends_where)
     order by holds desc, age_transactions desc, age_ms desc nulls last, name`;
}
