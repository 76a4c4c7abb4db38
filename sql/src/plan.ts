import { quoteIdentifier, type SqlClient } from "./client.ts";
import { installedVersion, type SchemaOptions } from "./install.ts";
import { migrations } from "./migrations.ts";
import { statements } from "./script.ts";
import { defaultSchema, schemaVersion, serves } from "./version.ts";
import { migrationsFrom } from "./way.ts";

/** What `install` would do. */
export interface Plan {
  /** The version that is there; null: none. */
  found: string | null;
  /** The version that would be there. */
  version: string;
  /** The migrations that would run, each in a transaction; none: nothing to do. */
  steps: readonly { version: string; sql: string }[];
}

/**
 * What `install` would do, without doing it.
 *
 * @throws Error when no migration leads here from the installed version
 */
export async function plan(client: SqlClient, options: SchemaOptions = {}): Promise<Plan> {
  const { schema = defaultSchema } = options;
  const quoted = await quoteIdentifier(client, schema);
  const found = await installedVersion(client, { schema });
  if (found !== null && serves(found, schemaVersion)) return { found, version: found, steps: [] };
  const pending = migrationsFrom(found, migrations, quoted);
  const steps = pending.map((migration) => ({
    version: migration.version,
    sql: statements(quoted, migration, migration === migrations[0]),
  }));
  return { found, version: schemaVersion, steps };
}
