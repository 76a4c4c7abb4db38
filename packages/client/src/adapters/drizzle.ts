import { field } from "../options/field.ts";
import type { Queryable } from "../connection/queryable.ts";

/** The `tx` of drizzle's `db.transaction`, on any Postgres driver. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
  rollback(): never;
}

/** Marks the classes of drizzle, so that they are known across copies of the package. */
const entityKind = Symbol.for("drizzle:entityKind");

/** Runs statements on a transaction of drizzle. A text: what is wrong with the handle; undefined: not one of this library. */
export function drizzle(handle: unknown): Queryable | string | undefined {
  const kind = field(handle, "constructor");
  if (typeof kind !== "function" || !(entityKind in kind) || typeof field(handle, "execute") !== "function") {
    return undefined;
  }
  if (typeof field(handle, "rollback") !== "function") {
    return "got drizzle's `db`: pass what `db.transaction(async (tx) => …)` gives";
  }
  const tx = handle as DrizzleTransaction;
  return {
    query: async ({ text, values = [] }) => {
      const result = await tx.execute(wrapped(text, values) as never);
      // an array of postgres.js, a result of node-postgres and those like it
      return { rows: (Array.isArray(result) ? result : field(result, "rows")) as Record<string, unknown>[] };
    },
  };
}

/**
 * A query with its parameters. `execute` takes any `SQLWrapper` and asks it for no more than this, in every version since 0.30; its own
 * `sql` would have to be imported, of the very copy the application uses, and takes no text that has its parameters already. Not the driver
 * under it either: that is private, and drizzle's logger would not see the statement.
 */
function wrapped(text: string, params: unknown[]): object {
  const query = { getSQL: () => query, toQuery: () => ({ sql: text, params }) };
  return query;
}
