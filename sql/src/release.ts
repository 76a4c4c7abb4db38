import { fingerprint, firstVersion, migrations, statements } from "./release.gen.ts";
import type { Statement } from "./statements.ts";
import { schemaVersion } from "./version.ts";

/**
 * What changes tables, types, indexes and sequences between two versions: the files `NNN_name.*.sql` of sql/migrations. Functions and views
 * are in none of them: an upgrade replaces all of them by those of the schema. sql/README.md says how a migration is made.
 */
export interface Migration {
  /** NNN. */
  number: number;
  name: string;
  /** The version that needs it. */
  version: string;
  /** `NNN_name.queue.sql`: run for each queue, whose number stands in the place of `<queue>`, while the functions are those of the version before. */
  queueSql: string;
  /** `NNN_name.sql`: run once, after that, with the same functions. */
  sql: string;
  /** `NNN_name.functions.sql`: run in the transaction that replaces the functions, before: for what the version before cannot do without. */
  functionsSql: string;
}

/** A version of the schema, and the migrations to it. */
export interface Release {
  version: string;
  /** Tells two builds of a version apart: a digest of the statements. */
  fingerprint: string;
  /** The oldest version that the migrations lead from; null until the first one is frozen. */
  firstVersion: string | null;
  /** The schema as it is installed where there is none. */
  statements: readonly Statement[];
  /** In order of their numbers; the first release has none. */
  migrations: readonly Migration[];
}

/** The release that this package installs. */
export const packagedRelease: Release = { version: schemaVersion, fingerprint, firstVersion, statements, migrations };

/** The number of the last migration that a release has; that of the first release is 1. */
export function lastMigration({ migrations: all }: Release): number {
  return all.at(-1)?.number ?? 1;
}
