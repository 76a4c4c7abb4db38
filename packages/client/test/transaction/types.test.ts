import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";
import type * as kysely from "kysely";
import type pg from "pg";
import type postgres from "postgres";
import { expectTypeOf, test } from "vitest";
import type { Queryable, Transaction } from "@pgque/client";
import type { Prisma, PrismaClient } from "../../../../docs/examples/transactions/generated/prisma/client.ts";

/** What a method gives to its callback. */
type TransactionOf<Method> = Method extends (work: (tx: infer Tx) => never, ...rest: never[]) => unknown ? Tx : never;

interface Tables {
  orders: { id: number };
}

test("inTransaction takes what each library hands out for a transaction", () => {
  expectTypeOf<pg.PoolClient>().toExtend<Transaction>();
  expectTypeOf<pg.Client>().toExtend<Transaction>();
  expectTypeOf<Queryable>().toExtend<Transaction>();
  expectTypeOf<postgres.TransactionSql>().toExtend<Transaction>();
  expectTypeOf<postgres.TransactionSql<{ bigint: bigint }>>().toExtend<Transaction>();
  expectTypeOf<postgres.ReservedSql>().toExtend<Transaction>();
  expectTypeOf<TransactionOf<NodePgDatabase["transaction"]>>().toHaveProperty("rollback");
  expectTypeOf<TransactionOf<NodePgDatabase["transaction"]>>().toExtend<Transaction>();
  expectTypeOf<TransactionOf<NodePgDatabase<{ a: never }>["transaction"]>>().toExtend<Transaction>();
  expectTypeOf<TransactionOf<PostgresJsDatabase["transaction"]>>().toExtend<Transaction>();
  expectTypeOf<kysely.Transaction<Tables>>().toExtend<Transaction>();
  expectTypeOf<kysely.ControlledTransaction<Tables>>().toExtend<Transaction>();
  expectTypeOf<kysely.ControlledTransaction<Tables, ["a"]>>().toExtend<Transaction>();
  expectTypeOf<Prisma.TransactionClient>().toExtend<Transaction>();
});

test("inTransaction does not take what statements would run on outside of any", () => {
  expectTypeOf<pg.Pool>().not.toExtend<Transaction>();
  expectTypeOf<postgres.Sql>().not.toExtend<Transaction>();
  expectTypeOf<NodePgDatabase>().not.toExtend<Transaction>();
  expectTypeOf<PostgresJsDatabase>().not.toExtend<Transaction>();
  expectTypeOf<kysely.Kysely<Tables>>().not.toExtend<Transaction>();
  expectTypeOf<PrismaClient>().not.toExtend<Transaction>();
  expectTypeOf<Promise<pg.PoolClient>>().not.toExtend<Transaction>();
  expectTypeOf<string>().not.toExtend<Transaction>();
});
