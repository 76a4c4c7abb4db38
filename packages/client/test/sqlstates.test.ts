import { afterAll, describe, expect, test } from "vitest";
import { Pgque, type PgqueErrorCode } from "@pgque/client";
import { sqlstates } from "#src/errors/sqlstates";
import { ownServer } from "../../../test/support/database.ts";
import { fakeServer } from "../../../test/support/fake-server.ts";
import { until } from "../../../test/support/until.ts";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
await pgque.maintain();
const fake = await fakeServer();
afterAll(() => fake[Symbol.asyncDispose]());

/** SQLSTATEs of the table: for a class one of it. */
const rows = Object.entries(sqlstates).map(([state, code]): [string, PgqueErrorCode] => [state.padEnd(5, "0"), code]);

/** Of statements on a connection that is there, the schema being known. */
async function atStatement(severity: "ERROR" | "FATAL", sqlstate: string): Promise<unknown> {
  fake.atStatement = { severity, sqlstate };
  await using own = new Pgque({ connectionString: fake.url }, { retryForMs: 0 });
  return await own.maintain().catch((error: unknown) => error);
}

describe("a statement that fails with SQLSTATE", () => {
  test.for(rows)("%s is %s, raised by a real server", async ([sqlstate, code]) => {
    const raise = `do $$ begin raise exception using errcode = '${sqlstate}', message = 'as raised' ; end $$`;
    const error = await failure(pgque.on({ query: () => pgque.pool.query(raise) }).maintain());
    expect([error.code, error.details.sqlstate]).toEqual([code, sqlstate]);
    expect(error.cause).toMatchObject({ code: sqlstate, message: "as raised" });
    await pgque.maintain();
  });

  test.for(rows)("%s is %s also where it ends the session", async ([sqlstate, code]) => {
    expect(await atStatement("FATAL", sqlstate)).toMatchObject({ code, details: { sqlstate } });
  });

  test.for(["XX000", "40001", "57014"])("%s that ends the session is CONNECTION_LOST", async (sqlstate) => {
    expect(await atStatement("FATAL", sqlstate)).toMatchObject({ code: "CONNECTION_LOST", details: { sqlstate } });
  });

  test.for(["40001", "40P01", "57014", "55P03", "25P02", "XX000"])(
    "%s comes as the driver threw it",
    async (sqlstate) => {
      expect(await atStatement("ERROR", sqlstate)).toMatchObject({ name: "error", code: sqlstate });
    },
  );
});

describe("an attempt to connect that ends", () => {
  const other = ["08001", "08004", "08P01", "53300", "57P01", "57P03", "3D000", "25006", "22023", "XX000"];

  test.for(other)("with %s is DATABASE_UNREACHABLE: nothing was executed", async (sqlstate) => {
    fake.atLogin = { severity: "FATAL", sqlstate };
    await using own = new Pgque(fake.url);
    const error = await failure(own.maintain());
    expect([error.code, error.details.sqlstate]).toEqual(["DATABASE_UNREACHABLE", sqlstate]);
  });

  test.for(["28000", "28P01", "42501"])("with %s is ACCESS_DENIED", async (sqlstate) => {
    fake.atLogin = { severity: "FATAL", sqlstate };
    await using own = new Pgque(fake.url);
    expect((await failure(own.maintain())).code).toBe("ACCESS_DENIED");
  });

  test("without a word, as of a load balancer that has nobody behind it, is DATABASE_UNREACHABLE", async () => {
    fake.atLogin = "close";
    await using own = new Pgque(fake.url);
    expect((await failure(own.maintain())).code).toBe("DATABASE_UNREACHABLE");
  });

  test("because the server does not speak TLS is DATABASE_UNREACHABLE", async () => {
    await using own = new Pgque({ connectionString: database.url, ssl: true });
    expect((await failure(own.maintain())).code).toBe("DATABASE_UNREACHABLE");
  });
});

test("a session that the server ends because its transaction is idle for too long is CONNECTION_LOST", async () => {
  await using own = await ownServer();
  const client = await own.connect();
  const there = new Pgque(own.pool());
  const admin = await own.connect();
  await client.query("set idle_in_transaction_session_timeout = 50");
  await client.query("begin");
  const gone = async () =>
    (await admin.query("select from pg_stat_activity where state = 'idle in transaction'")).rowCount;
  await until(async () => (await gone()) === 0, "the server has ended it");
  expect((await failure(there.inTransaction(client).send("orders", 1))).code).toBe("CONNECTION_LOST");
});

test("a session that the server ends because its transaction lasts too long is CONNECTION_LOST", async () => {
  // PostgreSQL has transaction_timeout since 17
  await using own = await ownServer({ major: 17 });
  const there = new Pgque(own.pool());
  const limited = await own.connect();
  await limited.query("set transaction_timeout = 100");
  await limited.query("begin");
  const slow = { query: () => limited.query("select pg_sleep(60)") };
  expect(await failure(there.on(slow).maintain())).toMatchObject({
    code: "CONNECTION_LOST",
    details: { sqlstate: "25P04" },
  });
});

test("an answer for which the driver did not wait is CONNECTION_LOST", async () => {
  const impatient = await database.pool({ query_timeout: 50 }).connect();
  const slow = { query: () => impatient.query("select pg_sleep(1)") };
  expect((await failure(pgque.on(slow).maintain())).code).toBe("CONNECTION_LOST");
  impatient.release(true);
});
