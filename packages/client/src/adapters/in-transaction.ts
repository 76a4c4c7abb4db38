import { PgqueError } from "../errors/errors.ts";
import { field } from "../options/field.ts";
import { show } from "../options/checks.ts";
import { drizzle, type DrizzleTransaction } from "./drizzle.ts";
import type { Queryable } from "../connection/queryable.ts";
import { serialize } from "./serialize.ts";
import { knex, type KnexTransaction } from "./knex.ts";
import { kysely, type KyselyTransaction } from "./kysely.ts";
import { pg, type PgTransaction } from "./pg.ts";
import { postgresJs, type PostgresJsTransaction } from "./postgres-js.ts";
import { prisma, type PrismaTransaction } from "./prisma.ts";

/** An open transaction, as the library that the application uses hands it out. */
export type Transaction =
  | PgTransaction
  | PostgresJsTransaction
  | DrizzleTransaction
  | KyselyTransaction
  | KnexTransaction
  | PrismaTransaction;

// Handles are told apart by their shape, so that no library is loaded, not even for its types, and any copy of it serves. `pg` last: others
// may have a `query` too.
const libraries = [postgresJs, knex, kysely, drizzle, prisma, pg];

/** One for a handle, so that statements of all its `inTransaction` take turns. */
const queryables = new WeakMap<object, Queryable>();

const expected =
  "expected the open transaction of pg, postgres.js, drizzle, kysely, knex or prisma, or an object with a `query` like that of pg";

/**
 * What runs statements in a transaction.
 *
 * @throws PgqueError INVALID_OPTION for anything else, and for a pool or the root object of a library, whose statements would run outside of
 *   any transaction
 */
export function queryableOf(tx: Transaction): Queryable {
  const known = queryables.get(tx);
  if (known !== undefined) return known;
  const queryable = serialize(recognised(tx), tx);
  queryables.set(tx, queryable);
  return queryable;
}

function recognised(tx: unknown): Queryable {
  const found = promised(tx) ?? ofLibrary(tx) ?? `got: ${show(tx)}`;
  if (typeof found !== "string") return found;
  const problem = `${expected}, ${found}`;
  throw new PgqueError("INVALID_OPTION", `inTransaction: ${problem}`, { details: { problems: [problem] } });
}

function promised(tx: unknown): string | undefined {
  return typeof field(tx, "then") === "function" ? "got a promise: `await` it" : undefined;
}

function ofLibrary(tx: unknown): Queryable | string | undefined {
  for (const library of libraries) {
    const found = library(tx);
    if (found !== undefined) return found;
  }
  return undefined;
}
