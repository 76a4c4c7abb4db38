import { isPool } from "../connection/address.ts";
import { field } from "../options/field.ts";
import type { Queryable } from "../connection/queryable.ts";

/** A `Client` or `PoolClient` of `pg` that holds a transaction, or an object that runs statements like one. Not a pool. */
export type PgTransaction = Queryable & { readonly totalCount?: never };

/** Runs statements on a client of `pg`. A text: what is wrong with the handle; undefined: not one of this library. */
export function pg(handle: unknown): Queryable | string | undefined {
  if (isPool(handle)) return "got a pool: pass the client that holds the transaction, from `await pool.connect()`";
  return typeof field(handle, "query") === "function" ? (handle as Queryable) : undefined;
}
