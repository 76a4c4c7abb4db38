import { sql } from "drizzle-orm";
import { drizzle as overPg } from "drizzle-orm/node-postgres";
import { drizzle as overPostgresJs } from "drizzle-orm/postgres-js";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import postgres from "postgres";
import { describe } from "vitest";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";
import { brokenConnection } from "./conformance/broken-connection.ts";
import type { Library, Opened } from "./library.ts";
import { poolOf } from "./pool.ts";

type Database = PgDatabase<PgQueryResultHKT>;
type Tx = Parameters<Parameters<Database["transaction"]>[0]>[0];

const sqlstateOf = (error: unknown) => field(field(error, "cause"), "code");

function opened(db: Database, end: () => Promise<void>): Opened<Tx> {
  return {
    transaction: (work, isolationLevel) => db.transaction(work, isolationLevel && { isolationLevel }),
    nested: (tx, work) => tx.transaction(work),
    run: (tx, statement) => tx.execute(sql.raw(statement)),
    end,
  };
}

describe("over node-postgres", () => {
  const library: Library<Tx> = {
    open: async (connectionString, max) => {
      const pool = poolOf(connectionString, max);
      return opened(overPg(pool), () => pool.end());
    },
    sqlstateOf,
  };
  conformance(library);
  brokenConnection(library);
});

describe("over postgres.js", () => {
  conformance<Tx>({
    open: async (url, max) => {
      const client = postgres(url, { max, onnotice: () => undefined });
      return opened(overPostgresJs(client), () => client.end());
    },
    sqlstateOf,
  });
});
