import type pg from "pg";

const tables = `
  select format('alter table %s set (autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000)', oid::regclass) as tune
    from pg_class
   where relnamespace = $1::regnamespace
     and relkind = 'r'
     and not coalesce(reloptions && '{autovacuum_enabled=off,autovacuum_enabled=false}', false)`;

export const tunedSetting =
  "autovacuum_vacuum_scale_factor 0.005 and cost limit 10000 on its tables, as for skip-locked";

/** Autovacuum for the tables of a library as for our own; not for those whose autovacuum it has switched off itself. */
export async function tuneAutovacuum(admin: pg.Client, schema: string): Promise<void> {
  const { rows } = await admin.query<{ tune: string }>(tables, [schema]);
  for (const { tune } of rows) await admin.query(tune);
}
