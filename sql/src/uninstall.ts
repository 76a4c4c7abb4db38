import { only, quoteIdentifier, type SqlClient } from "./client.ts";
import { installedVersion, type SchemaOptions } from "./install.ts";
import { begin } from "./script.ts";
import { defaultSchema } from "./version.ts";

/** How many tables or functions a transaction drops: a table takes a lock for each index and for its TOAST, and a stock server has 6,400 locks. */
const atOnce = 200;

// The tables and functions of queues, tables that others are made of last.
const ofQueues = `
select string_agg(d.statement, E';\\n' order by d.statement collate "C" desc) as statements
  from (
    select t.statement
      from (
        select format('drop table if exists %s cascade', c.oid::regclass) as statement
          from pg_class c
         where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and c.relname ~ '^(message|batch|outcome|cancelled)_[0-9]+(_[0-9]+)?$'
         union all
        select format('drop routine if exists %s cascade', p.oid::regprocedure)
          from pg_proc p
         where p.pronamespace = $1::regnamespace and p.proname ~ '^[a-z_]+_[0-9]+$'
      ) as t
     order by t.statement collate "C" desc
     limit $2
  ) as d`;

/**
 * Drops the schema with every queue and message in it. Does nothing when it is not there. One transaction would take more locks than a stock server
 * has with some hundred queues: their tables go before, some at a time, and an uninstall that is interrupted is to be called again.
 */
export async function uninstall(client: SqlClient, options: SchemaOptions = {}): Promise<void> {
  if ((await installedVersion(client, options)) === null) return;
  const quoted = await quoteIdentifier(client, options.schema ?? defaultSchema);
  for (;;) {
    const drops = only((await client.query(ofQueues, [quoted, atOnce])).rows);
    if (typeof drops !== "string") break;
    await client.query(`${begin}${drops};\ncommit`);
  }
  await client.query(`${begin}drop schema ${quoted} cascade;\ncommit`);
}
