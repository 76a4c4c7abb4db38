import { Command } from "commander";
import { configOption, schemaOption } from "../connection.ts";

const more = `
Connects to nothing. The script is one transaction. It fails where Pgque is installed already.

Examples:
  pgque sql > migrations/0042_pgque.sql
  pgque sql --schema queues | psql`;

/** The `sql` command. */
export function sqlCommand(): Command {
  return new Command("sql")
    .description("Print what install does as a script, for a DBA or a migration tool.")
    .addOption(schemaOption())
    .addOption(configOption())
    .addHelpText("after", more)
    .action(async ({ schema }: { schema: string }) => {
      const { script } = await import("@pgque/sql");
      process.stdout.write(script(schema));
    });
}
