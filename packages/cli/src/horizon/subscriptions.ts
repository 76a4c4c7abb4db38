import type { Client } from "pg";

/** Subscriptions of this database with retain_dead_tuples, by name: none before PostgreSQL 19, which has the column. */
export async function retainingSubscriptions(client: Client): Promise<string[]> {
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
