import { quoteIdentifier, type SqlClient } from "./client.ts";
import { statements } from "./script.ts";
import { defaultSchema, schemaVersion } from "./version.ts";

export interface SchemaOptions {
  /** Name of the schema. Default: `pgque`. */
  schema?: string;
}

export interface Installed {
  /** False when this version was there already. */
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
  if (rows[0]?.["present"] !== true) return null;
  // by its function: who may only send or receive cannot read tables
  const version = await client.query(`select ${schema}.version() as version`);
  const found = version.rows[0]?.["version"];
  return typeof found === "string" ? found : null;
}

/**
 * Installs the schema in one transaction. Does nothing when this version is there already; any number of installers may run at
 * once.
 *
 * @throws Error when another version is installed
 */
export async function install(client: SqlClient, options: SchemaOptions = {}): Promise<Installed> {
  const schema = options.schema ?? defaultSchema;
  const quoted = await quoteIdentifier(client, schema);
  return inTransaction(client, async () => {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`pgque install ${schema}`]);
    const found = await installedVersion(client, options);
    if (found === schemaVersion) return { installed: false, version: found };
    if (found !== null) {
      throw new Error(
        `expected schema ${quoted} to be of version ${schemaVersion} or not there yet, found version ${found}: ` +
          `use the pgque package of version ${found}, or uninstall the schema first`,
      );
    }
    await client.query(statements(quoted));
    return { installed: true, version: schemaVersion };
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
