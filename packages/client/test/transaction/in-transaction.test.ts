import { PrismaPg } from "@prisma/adapter-pg";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import knex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { expect, test } from "vitest";
import { Pgque } from "@pgque/client";
import { PrismaClient } from "../../../../docs/examples/transactions/generated/prisma/client.ts";
import { failure } from "../support/client.ts";

// none of them connects before it is used
const url = "postgres://127.0.0.1:1/nowhere";
const pool = new Pool({ connectionString: url });
const sql = postgres(url);
const pgque = new Pgque(pool);
const database = { query: async () => [{ of: "another shape" }] };

test.for<[string, unknown, string]>([
  ["a pool", pool, "from `await pool.connect()`"],
  ["postgres.js's root", sql, "`sql.begin(async (tx) => …)`"],
  ["drizzle's root over node-postgres", drizzlePg(pool), "`db.transaction(async (tx) => …)`"],
  ["drizzle's root over postgres.js", drizzlePostgresJs(sql), "`db.transaction(async (tx) => …)`"],
  [
    "Kysely's root",
    new Kysely({ dialect: new PostgresDialect({ pool }) }),
    "`db.transaction().execute(async (tx) => …)`",
  ],
  [
    "Prisma's root",
    new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) }),
    "`prisma.$transaction(async (tx) => …)`",
  ],
  ["knex's root", knex({ client: "pg", connection: url }), "an object with a `query` like that of pg"],
  ["a client of its own", pgque, "an object with a `query` like that of pg"],
  ["a promise", Promise.resolve(), "got a promise: `await` it"],
  ["nothing", undefined, "got: undefined"],
  ["null", null, "got: null"],
  ["a connection string", url, `got: '${url}'`],
  ["an object", {}, "got: {}"],
])("inTransaction refuses %s and says what to pass", async ([, handle, advice]) => {
  const error = await failure(() => pgque.inTransaction(handle as never));
  expect(error.code).toBe("INVALID_OPTION");
  expect(error.message).toMatch(
    /^inTransaction: expected the open transaction of pg, postgres\.js, drizzle, kysely, knex or prisma/,
  );
  expect(error.message).toContain(advice);
  expect(error.details.problems).toHaveLength(1);
});

test("a query that answers otherwise than that of pg is refused when it does", async () => {
  const error = await failure(pgque.inTransaction(database as never).send("events", 1));
  expect(error.code).toBe("INVALID_OPTION");
  expect(error.message).toContain("expected `query` to answer with { rows }, got: [ { of: 'another shape' } ]");
});
