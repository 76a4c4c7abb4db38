import { initialSchema } from "./initial-schema.gen.ts";
import { schemaVersion } from "./version.ts";

/**
 * A step from one version of the schema to the next, run in one transaction with search_path set to the schema. It runs under load:
 * senders wait while it holds a lock on their tables, so it does little at a time. CREATE OR REPLACE FUNCTION holds up nobody; what
 * changes a generated function ends with `select generate_functions(id) from queue` and `select generate_dispatchers()`.
 */
export interface Migration {
  /** What the schema is of afterwards. */
  version: string;
  sql: string;
}

/** All steps in order; the first one makes the schema. Until 1.0 it is the only one, and is written anew with each version. */
export const migrations: readonly Migration[] = [{ version: schemaVersion, sql: initialSchema }];
