import { field } from "../options/field.ts";
import type { Queryable } from "../connection/queryable.ts";

/** What `sql.begin` or `savepoint` of postgres.js gives, or a connection reserved for a transaction by hand. */
export type PostgresJsTransaction = PostgresJs & ({ savepoint: unknown } | { release(): void });

interface PostgresJs {
  unsafe(
    text: string,
    // its own type of parameters has a conditional type for each serializer
    values?: never[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly object[]>;
}

/** Runs statements on a transaction of postgres.js. A text: what is wrong with the handle; undefined: not one of this library. */
export function postgresJs(handle: unknown): Queryable | string | undefined {
  if (typeof handle !== "function" || typeof field(handle, "unsafe") !== "function") return undefined;
  if (typeof field(handle, "savepoint") !== "function" && typeof field(handle, "release") !== "function") {
    return "got postgres.js's `sql`: pass what `sql.begin(async (tx) => …)` gives";
  }
  const sql = handle as unknown as PostgresJs;
  return {
    query: async ({ text, values = [], name }) => ({
      // it names prepared statements itself
      rows: (await sql.unsafe(text, values as never[], { prepare: name !== undefined })) as Record<string, unknown>[],
    }),
  };
}
