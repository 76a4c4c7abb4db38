import { Command } from "commander";
import type { Client } from "pg";
import { sanitize } from "@pgque/client/redact";
import { type DatabaseFlags, placeOf, withClient, withDatabase } from "../connection.ts";
import { type DryFlags, withDryRun } from "./install.ts";
import { printLine } from "../output/print.ts";
import { confirmByName, type ConfirmFlags } from "../output/confirm.ts";

interface Flags extends DatabaseFlags, ConfirmFlags, DryFlags {}

const more = `
Drops the schema with every queue, consumer and message in it. Lists them, and asks for confirmation.

Examples:
  pgque uninstall --dry-run                 what would go
  pgque uninstall
  pgque uninstall --yes --schema queues     without asking, for scripts`;

/** The `uninstall` command. */
export function uninstallCommand(): Command {
  return withDryRun(withDatabase(new Command("uninstall")))
    .description("Drop the schema and everything in it.")
    .option("--yes", "do not ask")
    .addHelpText("after", more)
    .action(uninstall);
}

async function uninstall(flags: Flags): Promise<void> {
  const sql = await import("@pgque/sql");
  await withClient(flags, async (client) => {
    const { schema } = flags;
    const place = `schema ${JSON.stringify(schema)} of ${placeOf(client)}`;
    if ((await sql.installedVersion(client, { schema })) === null) {
      process.stdout.write(`Nothing to do: Pgque is not installed in ${place}.\n`);
      return;
    }
    const quoted = await sql.quoteIdentifier(client, schema);
    if (flags.showSql) return printLine(`drop schema ${quoted} cascade;`);
    const inIt = await contents(client, quoted, schema);
    if (flags.dryRun) return printLine(`Would drop ${place}: ${inIt}. Nothing was done.`);
    await confirmByName(`This drops ${place}: ${inIt}.`, schema, flags);
    await sql.uninstall(client, { schema });
    process.stdout.write(`Dropped ${place}.\n`);
  });
}

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
  const names =
    shown.length === 0
      ? "no queue"
      : `${queues.length} ${queues.length === 1 ? "queue" : "queues"} (${shown.join(", ")})`;
  return `${names}, ${rows[0]?.size} in all, and whatever else was put into it`;
}
