import { Command } from "commander";
import { type DatabaseFlags, placeOf, withClient, withDatabase } from "../connection.ts";

const more = `
No superuser, no extension. An older version is brought to this one, each migration in a transaction, while its queues are in
use. Does nothing when this version is there already, or a later one that serves, so that every deployment may run it, several
at once too. Creates the roles SCHEMA_reader, SCHEMA_writer and SCHEMA_admin if it may; all else works without them.

Examples:
  pgque install
  pgque install --database-url postgres://app@localhost/app --schema queues`;

/** The `install` command. */
export function installCommand(): Command {
  return withDatabase(new Command("install"))
    .description("Install the schema into a database.")
    .addHelpText("after", more)
    .action(install);
}

async function install(flags: DatabaseFlags): Promise<void> {
  const sql = await import("@pgque/sql");
  await withClient(flags, async (client) => {
    const { installed, version } = await sql.install(client, { schema: flags.schema });
    const schema = `schema ${JSON.stringify(flags.schema)} of ${placeOf(client)}`;
    process.stdout.write(
      installed ? `Installed Pgque ${version} in ${schema}.\n` : `Pgque ${version} is there already, in ${schema}.\n`,
    );
    if (!installed) return;
    const { rows } = await client.query<{ detail: string }>(
      `select detail from ${await sql.quoteIdentifier(client, flags.schema)}.status() where component = 'roles' and status <> 'ok'`,
    );
    for (const { detail } of rows) process.stdout.write(`Roles: ${detail}.\n`);
  });
}
