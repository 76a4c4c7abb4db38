import { command } from "../command.ts";
import { configOption, schemaOption } from "../connection.ts";

export const sqlCommand = command("sql", {
  description: "Print what install does as a script, for a DBA or a migration tool.",
  help: `
Connects to nothing. The script is one transaction. It fails where Pgque is installed already.

Examples:
  pgque sql > migrations/0042_pgque.sql
  pgque sql --schema queues | psql`,
  options: [schemaOption, configOption],
  json: false,
  database: false,
  async run({ schema }: { schema: string }) {
    const { script } = await import("@pgque/sql");
    process.stdout.write(script(schema));
  },
});
