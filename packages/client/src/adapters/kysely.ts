import { field } from "../options/field.ts";
import type { Queryable } from "../connection/queryable.ts";

/** A `Transaction` or `ControlledTransaction` of Kysely, on any driver. */
export interface KyselyTransaction {
  readonly isTransaction: true;
  executeQuery(query: never): Promise<{ rows: unknown[] }>;
  withoutPlugins(): unknown;
}

/** Runs statements on a transaction of Kysely. A text: what is wrong with the handle; undefined: not one of this library. */
export function kysely(handle: unknown): Queryable | string | undefined {
  const isTransaction = field(handle, "isTransaction");
  if (typeof field(handle, "executeQuery") !== "function" || typeof isTransaction !== "boolean") return undefined;
  if (!isTransaction) {
    return "got Kysely's `db`: pass what `db.transaction().execute(async (tx) => …)` or `db.startTransaction()` gives";
  }
  // plugins may parse what looks like JSON, as payloads do
  const tx = (handle as KyselyTransaction).withoutPlugins() as KyselyTransaction;
  return {
    query: async ({ text, values = [] }) => ({
      rows: (await tx.executeQuery(compiled(text, values) as never)).rows as Record<string, unknown>[],
    }),
  };
}

/** What Kysely's `CompiledQuery.raw` makes. */
function compiled(sql: string, parameters: unknown[]): object {
  return {
    sql,
    parameters,
    query: { kind: "RawNode", sqlFragments: [sql], parameters: [] },
    queryId: { queryId: "pgque" },
  };
}
