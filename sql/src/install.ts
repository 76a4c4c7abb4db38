import { only, quoteIdentifier, type SqlClient } from "./client.ts";
import { type Migration, migrations as packagedMigrations } from "./migrations.ts";
import { lockTimeoutMs, patiently } from "./patiently.ts";
import { statements } from "./script.ts";
import { defaultSchema, schemaVersion, serves } from "./version.ts";
import { migrationsFrom } from "./way.ts";

export interface SchemaOptions {
  /** Name of the schema. Default: `pgque`. */
  schema?: string;
}

export interface InstallOptions extends SchemaOptions {
  /** The way to the version wanted, from the first on. Default: the package's own. */
  migrations?: readonly Migration[];
  /** For how long a migration is tried again whose locks others hold. Default: 60,000 ms. */
  giveUpAfterMs?: number;
}

export interface Installed {
  /** False when this version, or a later one that serves, was there already. */
  installed: boolean;
  version: string;
}

/** The version installed in a schema, or null when there is none. */
export async function installedVersion(client: SqlClient, options: SchemaOptions = {}): Promise<string | null> {
  const schema = await quoteIdentifier(client, options.schema ?? defaultSchema);
  const { rows } = await client.query("select to_regclass($1) is not null and to_regtype($2) is not null as present", [
    `${schema}.meta`,
    `${schema}.received_message`,
  ]);
  if (only(rows) !== true) return null;
  // by its function: who may only send or receive cannot read tables
  const version = await client.query(`select ${schema}.version() as version`);
  const found = only(version.rows);
  return typeof found === "string" ? found : null;
}

/**
 * Brings the schema to this package's version: installs it where it is not, applies the migrations since where it is older, does
 * nothing where it is the same or a later one that serves. Each migration is one transaction, so that one that fails leaves the
 * version before it, which works. Queues stay in use meanwhile: no lock is waited for longer than a moment at a time. Any
 * number of installers may run at once.
 *
 * @throws Error when no migration leads here from the installed version
 */
export async function install(client: SqlClient, options: InstallOptions = {}): Promise<Installed> {
  const { migrations = packagedMigrations, giveUpAfterMs = 60_000 } = options;
  let installed = false;
  for (;;) {
    const { isDone, version } = await patiently(giveUpAfterMs, () => step(client, options.schema, migrations));
    if (isDone) return { installed, version };
    installed = true;
  }
}

/** Applies the next migration. `isDone`: there is none left. */
async function step(
  client: SqlClient,
  schema: string = defaultSchema,
  migrations: readonly Migration[],
): Promise<{ isDone: boolean; version: string }> {
  const quoted = await quoteIdentifier(client, schema);
  const latest = migrations.at(-1)?.version ?? schemaVersion;
  return inTransaction(client, async () => {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`pgque install ${schema}`]);
    const found = await installedVersion(client, { schema });
    if (found !== null && serves(found, latest)) return { isDone: true, version: found };
    const [migration] = migrationsFrom(found, migrations, quoted);
    if (migration === undefined) return { isDone: true, version: latest };
    if (found !== null) {
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      // no queue is created meanwhile: it would be one of the version before
      await client.query(`select pg_advisory_xact_lock(${quoted}.lock_key('registry', 0))`);
    }
    await client.query(statements(quoted, migration, found === null));
    return { isDone: false, version: migration.version };
  });
}

/** Drops the schema with every queue and message in it. Does nothing when it is not there. */
export async function uninstall(client: SqlClient, options: SchemaOptions = {}): Promise<void> {
  if ((await installedVersion(client, options)) === null) return;
  const quoted = await quoteIdentifier(client, options.schema ?? defaultSchema);
  await client.query(`drop schema ${quoted} cascade`);
}

async function inTransaction<T>(client: SqlClient, work: () => Promise<T>): Promise<T> {
  await client.query("begin");
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}
