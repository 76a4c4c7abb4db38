import {
  CamelCasePlugin,
  CompiledQuery,
  Kysely,
  ParseJSONResultsPlugin,
  PostgresDialect,
  type Transaction,
} from "kysely";
import { describe } from "vitest";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";
import { brokenConnection } from "./conformance/broken-connection.ts";
import type { Library, Opened } from "./library.ts";
import { poolOf } from "./pool.ts";

interface Database {
  seen: { at: string };
}

function connected(connectionString: string, max: number): Kysely<Database> {
  const pool = poolOf(connectionString, max);
  // what rewrites results must not touch those of the queue
  const plugins = [new CamelCasePlugin(), new ParseJSONResultsPlugin()];
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }), plugins });
}

const sqlstateOf = (error: unknown) => field(error, "code");

/** A transaction that is committed and rolled back by hand: the only one that has savepoints. */
function controlled(db: Kysely<Database>): Opened<Transaction<Database>> {
  return {
    async transaction(work, isolation) {
      const begin = db.startTransaction();
      const tx = await (isolation === undefined ? begin : begin.setIsolationLevel(isolation)).execute();
      try {
        const result = await work(tx);
        await tx.commit().execute();
        return result;
      } catch (error) {
        await tx.rollback().execute();
        throw error;
      }
    },
    nested,
    run: (tx, statement) => tx.executeQuery(CompiledQuery.raw(statement)),
    end: () => db.destroy(),
  };
}

async function nested<T>(tx: Transaction<Database>, work: (tx: Transaction<Database>) => Promise<T>): Promise<T> {
  await tx.executeQuery(CompiledQuery.raw("savepoint nested"));
  try {
    return await work(tx);
  } catch (error) {
    await tx.executeQuery(CompiledQuery.raw("rollback to nested"));
    throw error;
  }
}

describe("with transactions of a callback", () => {
  const library: Library<Transaction<Database>> = {
    open: async (url, max) => {
      const db = connected(url, max);
      return {
        ...controlled(db),
        transaction: (work, isolation) =>
          (isolation === undefined ? db.transaction() : db.transaction().setIsolationLevel(isolation)).execute(work),
      };
    },
    sqlstateOf,
  };
  conformance(library);
  brokenConnection(library);
});

describe("with controlled transactions", () => {
  conformance<Transaction<Database>>({ open: async (url, max) => controlled(connected(url, max)), sqlstateOf });
});
