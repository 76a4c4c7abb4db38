import type pg from "pg";
import type { Horizon } from "./horizon.ts";
import { holdInSession } from "./session.ts";

// Ordinary and partitioned tables are what pg_dump locks; not views, and not what another session has made for itself.
const tables = `
  select c.oid::text as oid, format('%I.%I', n.nspname, c.relname) as name
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
   where c.relkind in ('r', 'p')
     and c.relpersistence <> 't'
     and n.nspname <> 'information_schema'
     and n.nspname !~ '^pg_'
   order by c.oid`;

const locked = `
  select count(distinct relation)::int as tables
    from pg_locks
   where pid = $1 and relation = any($2::text[]::oid[]) and mode = 'AccessShareLock' and granted`;

/**
 * What pg_dump does for as long as it copies: one exported snapshot, and ACCESS SHARE on all tables that are there when it begins. Tables that are made
 * later are neither in the snapshot nor locked. The lock is in the way of TRUNCATE, so a queue that gives back its space by TRUNCATE cannot
 * give back what was there.
 */
export const pgDump: Horizon = {
  name: "pg-dump",
  summary:
    "what pg_dump does: a REPEATABLE READ transaction with an exported snapshot and ACCESS SHARE on every table that was there when it began, " +
    "which keeps them from being truncated; tables made later are not locked",
  async hold(context) {
    let oids: string[] = [];
    const session = await holdInSession(context, async (client) => {
      oids = await beginDump(client);
    });
    return {
      async prove() {
        const xminAge = await session.prove();
        const { rows } = await context.admin.query<{ tables: number }>(locked, [session.pid, oids]);
        const tablesLocked = rows[0]?.tables ?? 0;
        if (tablesLocked < oids.length) {
          throw new Error(
            `the holder (session ${session.pid}) has ${tablesLocked} tables locked, expected ${oids.length}`,
          );
        }
        return { xminAge, tablesLocked };
      },
      release: session.release,
    };
  },
};

async function beginDump(client: pg.Client): Promise<string[]> {
  await client.query("begin isolation level repeatable read read only");
  await client.query("select pg_export_snapshot()");
  const { rows } = await client.query<{ oid: string; name: string }>(tables);
  if (rows.length > 0) {
    await client.query(`lock table ${rows.map(({ name }) => name).join(", ")} in access share mode`);
  }
  return rows.map(({ oid }) => oid);
}
