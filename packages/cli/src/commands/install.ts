import type { Plan } from "@pgque/sql";
import type { Client } from "pg";
import { command, type Flags } from "../command.ts";
import { configOption, placeOf, schemaOption, withClient } from "../connection.ts";
import { flag } from "../options.ts";
import { printLine } from "../output/print.ts";
import { counted } from "../output/text.ts";

/** Looks before it leaps. */
export interface DryFlags extends Flags {
  dryRun?: true;
  showSql?: true;
}

export const dryRunOptions = [
  flag("--dry-run", "print the plan, and do nothing"),
  flag("--show-sql", "print the SQL of the plan, and do nothing"),
];

/** What to do when a right is missing. */
const needsOwner =
  "This needs the owner of the schema or a superuser; where there is no schema yet, CREATE on the database: connect as such a role";

export const installCommand = command("install", {
  description: "Install the schema into a database.",
  help: `
Needs no superuser and no extension. The schema of any older released version is upgraded while its queues are in use: the tables
of each queue first, then all functions in one transaction.

Idempotent: does nothing if this version, or a newer compatible one, is installed. Every deployment may run it, concurrently too.
Fails if another build of this version, or a newer incompatible version, is installed.

Creates the roles SCHEMA_viewer, SCHEMA_reader, SCHEMA_writer and SCHEMA_admin if it may. Everything else works without them.

Examples:
  pgque install
  pgque install --dry-run
  pgque install --database-url postgres://app@localhost/app --schema queues`,
  options: dryRunOptions,
  json: false,
  run: (flags: DryFlags) => withClient(flags, (client) => install(client, flags), needsOwner),
});

export const upgradeCommand = command("upgrade", {
  description: "Bring an older schema to this version.",
  help: `
Like install, but fails if the schema is missing, or newer than this command line. The old version works until the last
transaction has committed. After a failure or a kill, the next run continues.

Examples:
  pgque upgrade --dry-run
  pgque upgrade --show-sql > upgrade.sql    the transactions, for a DBA
  pgque upgrade`,
  options: dryRunOptions,
  json: false,
  run: (flags: DryFlags) =>
    withClient(
      flags,
      async (client) => {
        await requireOlderOrSame(client, flags.schema);
        await install(client, flags);
      },
      needsOwner,
    ),
});

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

async function install(client: Client, flags: DryFlags): Promise<void> {
  const sql = await import("@pgque/sql");
  const schema = placeOf(client, flags.schema);
  const plan = await sql.plan(client, { schema: flags.schema });
  if (flags.dryRun || flags.showSql) return printLine(describePlan(plan, schema, flags));
  const { installed, version } = await sql.install(client, { schema: flags.schema }).catch(async (cause: unknown) => {
    if (plan.found === null) throw cause;
    // the connection may be what failed
    const at = await sql.installedVersion(client, { schema: flags.schema }).catch(() => null);
    const left = at === null ? "" : `: it is of version ${at} now, whole and in use`;
    throw new Error(`could not bring ${schema} from version ${plan.found} to ${plan.version}${left}`, { cause });
  });
  if (!installed) return printLine(`Pgque ${version} is there already, in ${schema}.`);
  await printLine(
    plan.found === null
      ? `Installed Pgque ${version} in ${schema}.`
      : `Brought Pgque ${plan.found} to ${version} in ${schema}.`,
  );
  const { rows } = await client.query<{ detail: string }>(
    `select detail from ${await sql.quoteIdentifier(client, flags.schema)}.status() where component = 'roles' and status <> 'ok'`,
  );
  for (const { detail } of rows) await printLine(`Roles: ${detail}.`);
}

/** What a plan would do, as a sentence; with its SQL when that is asked for. */
function describePlan({ found, version, steps }: Plan, place: string, { showSql }: DryFlags): string {
  const what =
    steps.length === 0
      ? `Nothing to do: Pgque ${found} is there already, in ${place}.`
      : found === null
        ? `Would install Pgque ${version} in ${place}. Nothing was done.`
        : `Would bring Pgque ${found} to ${version} in ${place}, by ${counted(steps.length, "transaction")}. Nothing was done.`;
  if (!showSql) return what;
  const scripts = steps.map((step) => `-- ${step.what}\n${step.sql}`);
  // a comment, so that all of it can be given to psql
  return [`-- ${what}`, ...scripts].join("\n");
}

/** @throws Error when the schema is not there, or newer */
async function requireOlderOrSame(client: Client, schema: string): Promise<void> {
  const { installedVersion, isOlder, schemaVersion } = await import("@pgque/sql");
  const found = await installedVersion(client, { schema });
  const place = placeOf(client, schema);
  if (found === null) {
    throw new Error(
      `expected Pgque in ${place}, found none. pgque install --schema ${JSON.stringify(schema)} puts it there`,
    );
  }
  if (isOlder(schemaVersion, found)) {
    throw new Error(
      `expected ${place} to be of version ${schemaVersion} or older, found version ${found}: ` +
        `use the pgque package of version ${found}`,
    );
  }
}
