import type { Client } from "pg";
import { sanitize } from "@pgque/client/redact";
import { command } from "../command.ts";
import { placeOf, withClient } from "../connection.ts";
import { confirmByName } from "../output/confirm.ts";
import { printLine } from "../output/print.ts";
import { counted } from "../output/text.ts";
import { type DryFlags, dryRunOptions } from "./install.ts";

export const uninstallCommand = command("uninstall", {
  description: "Drop the schema and everything in it.",
  help: `
Drops the schema with every queue, consumer and message in it. Lists them, and asks for confirmation.

Examples:
  pgque uninstall --dry-run                 what would go
  pgque uninstall
  pgque uninstall --yes --schema queues     without asking, for scripts`,
  options: dryRunOptions,
  json: false,
  yes: true,
  run: (flags: DryFlags) =>
    withClient(flags, async (client) => {
      const sql = await import("@pgque/sql");
      const { schema } = flags;
      const place = placeOf(client, schema);
      if ((await sql.installedVersion(client, { schema })) === null)
        return printLine(`Nothing to do: Pgque is not installed in ${place}.`);
      const quoted = await sql.quoteIdentifier(client, schema);
      if (flags.showSql) return printLine(`drop schema ${quoted} cascade;`);
      const inIt = await contents(client, quoted, schema);
      if (flags.dryRun) return printLine(`Would drop ${place}: ${inIt}. Nothing was done.`);
      await confirmByName(`This drops ${place}: ${inIt}.`, schema, flags);
      await sql.uninstall(client, { schema });
      await printLine(`Dropped ${place}.`);
    }),
});

/** What is in the schema, in words. */
async function contents(client: Client, quoted: string, schema: string): Promise<string> {
  const { rows: queues } = await client.query<{ name: string }>(`select name from ${quoted}.queue order by name`);
  const { rows } = await client.query<{ size: string }>(
    `select pg_size_pretty(coalesce(sum(pg_total_relation_size(c.oid)), 0)) as size
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind = 'r'`,
    [schema],
  );
  const shown = queues.slice(0, 10).map(({ name }) => sanitize(JSON.stringify(name)));
  if (queues.length > shown.length) shown.push(`${queues.length - shown.length} more`);
  const names = shown.length === 0 ? "no queue" : `${counted(queues.length, "queue")} (${shown.join(", ")})`;
  return `${names}, ${rows[0]?.size} in all, and whatever else was put into it`;
}
