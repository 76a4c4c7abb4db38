import type pg from "pg";

/** What keeps VACUUM from removing row versions in the current database. */
export interface OldestHolder {
  /** In transactions; 0 when nothing holds. */
  age: number;
  who: string | null;
}

// A session of another database does not hold back this one's tables, and a vacuum does not hold back others. What has a transaction id comes
// first: every snapshot that is taken while it is open is as old.
const oldestHolder = `
  with session as (
    select pid, backend_xid, backend_xmin, format('session %s (%s)', pid, coalesce(nullif(application_name, ''), backend_type)) as who
      from pg_stat_activity
     where pid <> pg_backend_pid()
       and (datname = current_database() or backend_type = 'walsender')
       and backend_type <> 'autovacuum worker'
  ), holder(place, xmin, who) as (
    select 1, backend_xid, who from session where backend_xid is not null
    union all
    select 1, transaction, format('prepared transaction %s', gid) from pg_prepared_xacts where database = current_database()
    union all
    select 1, xmin, format('replication slot %s', slot_name) from pg_replication_slots where xmin is not null
    union all
    select 2, backend_xmin, who from session where backend_xmin is not null
  )
  select age(xmin) as age, who from holder order by age(xmin) desc, place limit 1`;

export async function oldestHolderOf(client: pg.Client): Promise<OldestHolder> {
  const { rows } = await client.query<{ age: number; who: string }>({ name: "oldest_holder", text: oldestHolder });
  return rows[0] ?? { age: 0, who: null };
}

/** The next transaction id, read without using one up. */
export async function nextTransactionId(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ next: number }>({
    name: "next_xid",
    text: "select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next",
  });
  return rows[0]?.next ?? Number.NaN;
}

/** Fewer than these may be between a session's snapshot and now without anybody holding anything. */
const transactionsInPassing = 100;

/**
 * From now on nobody may hold the horizon of user tables. What is returned looks whether anybody does, and gives the oldest
 * one's age in transactions.
 */
export async function unheldFrom(admin: pg.Client): Promise<() => Promise<number>> {
  const from = await nextTransactionId(admin);
  return async () => {
    const used = (await nextTransactionId(admin)) - from;
    const { age, who } = await oldestHolderOf(admin);
    if (age > Math.max(transactionsInPassing, used / 2)) {
      throw new Error(`the horizon was held by ${who}, ${age} transactions back: end it and run again`);
    }
    return age;
  };
}
