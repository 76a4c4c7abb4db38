import { defineQueue, Pgque } from "@pgque/client";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { install, validate } from "@pgque/sql";
import { nextRelease, nextVersion } from "../../../test/support/next-release.ts";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { makeWorker } from "./support/worker.ts";

// What ALTER ROLE has set for others' sake: for the role of the application, and for the owner of the schema who is one as well.

let server: OwnServer;
beforeAll(async () => {
  server = await ownServer();
  const admin = await server.connect();
  await admin.query(
    "create role app login password 'secret'; grant pgque_admin to app; create role keeper login superuser password 'secret'",
  );
});
afterAll(() => server.drop());

const settings: Record<string, Record<string, string>> = {
  "times as text and Latin letters": {
    DateStyle: "German",
    IntervalStyle: "sql_standard",
    bytea_output: "escape",
    extra_float_digits: "-15",
    client_encoding: "LATIN1",
    search_path: "elsewhere",
  },
  "bytes and transactions": {
    client_encoding: "SQL_ASCII",
    DateStyle: "SQL, DMY",
    IntervalStyle: "postgres_verbose",
    TimeZone: "Asia/Kathmandu",
    default_transaction_read_only: "on",
    default_transaction_isolation: "serializable",
    standard_conforming_strings: "off",
  },
  timeouts: {
    statement_timeout: "3s",
    lock_timeout: "20ms",
    idle_in_transaction_session_timeout: "300ms",
  },
};

const cases = Object.keys(settings).flatMap((what) => ["app", "keeper"].map((role) => [what, role] as const));

/** A pool of a role, with its own settings and no others. */
function poolOf(database: TestDatabase, role: string): Pool {
  const url = new URL(database.url);
  [url.username, url.password] = [role, "secret"];
  const pool = new Pool({ connectionString: url.href });
  pool.on("error", () => undefined);
  return pool;
}

async function withSettings(what: string, role: string): Promise<{ database: TestDatabase; pool: Pool }> {
  const database = await server.fresh();
  const admin = await database.connect();
  await admin.query("create schema elsewhere; create table elsewhere.queue (id int); create table elsewhere.meta ()");
  await admin.query("grant usage on schema elsewhere to app");
  const [{ name: current }] = (await admin.query("select current_database() as name")).rows;
  for (const [name, value] of Object.entries(settings[what] ?? {}))
    await admin.query(`alter role ${role} in database ${current} set ${name} = '${value}'`);
  return { database, pool: poolOf(database, role) };
}

// Latin letters have none of these but the first
const payload = { text: "é 日本 😀 \\ ' \" \u0001", number: 0.1 + 0.2, at: "2026-01-31T12:00:00.123Z" };

test.each(cases)("nothing is lost or misread under settings of %s, by role %s", async (what, role) => {
  const { database, pool } = await withSettings(what, role);
  const pgque = new Pgque(pool);
  for (const [name, value] of Object.entries(settings[what] ?? {})) {
    // the driver asks for the encoding that it reads
    const wanted = name === "client_encoding" ? "UTF8" : value;
    expect((await pool.query("select current_setting($1) as value", [name])).rows[0].value).toContain(wanted);
  }
  const queue = defineQueue("ördérs 日", { maxRetries: 3, rotationPeriodMs: 5_400_000, retentionMs: 90_061_001 });
  await pgque.ensure(queue);
  expect(await pgque.queues.settings(queue)).toMatchObject({ rotationPeriodMs: 5_400_000, retentionMs: 90_061_001 });
  await pgque.subscribe(queue, "default");
  const handled: unknown[] = [];
  const worker = makeWorker(
    pgque,
    queue,
    (message) => {
      if (message.attempt === 1 && message.type === "twice") throw new Error("é 日");
      handled.push([message.type, message.payload, message.headers]);
      expect(Math.abs(message.createdAt.getTime() - Date.now())).toBeLessThan(60_000);
    },
    { retryMinMs: 10, retryMaxMs: 10 },
  );
  await worker.start();
  const headers = { trace: "é 日" };
  await pgque.send(queue, payload, { type: "once", headers });
  await pgque.sendMany(queue, [payload, payload], { type: "many" });
  await pgque.send(queue, payload, { type: "twice", dedupeKey: "é 日" });
  await pgque.send(queue, payload, { type: "twice", dedupeKey: "é 日" });
  await pgque.send(queue, payload, { type: "later", delayMs: 20 });
  await until(() => handled.length === 5, "all are handled");
  expect(new Set(handled.map((one) => JSON.stringify(one)))).toEqual(
    new Set(
      [
        ["once", payload, headers],
        ["many", payload, {}],
        ["twice", payload, {}],
        ["later", payload, {}],
      ].map((one) => JSON.stringify(one)),
    ),
  );
  const at = new Date(Date.now() + 3_600_000);
  await pgque.send(queue, payload, { type: "waits", at });
  await until(async () => (await pgque.queues.status(queue)).delayed === 1, "one waits");
  await worker.stop();
  await pgque.close();
  await pool.end();
  await database.drop();
});

test.each(["app", "keeper"])(
  "a handler that a timeout of role %s ends is tried again, with the reason",
  async (role) => {
    const { database, pool } = await withSettings("timeouts", role);
    const pgque = new Pgque(pool);
    const queue = defineQueue("orders", { maxRetries: 3 });
    await pgque.ensure(queue);
    await pgque.subscribe(queue, "default");
    const admin = await database.connect();
    const idle = async (): Promise<number | null> =>
      (
        await admin.query(
          "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
        )
      ).rowCount;
    const seen: number[] = [];
    const errors: string[] = [];
    const worker = makeWorker(
      pgque,
      queue,
      async (message, { tx }) => {
        seen.push(message.attempt);
        if (message.attempt === 1) await until(async () => (await idle()) === 0, "the server has ended it");
        await tx.query("select 1").catch((error: Error) => {
          errors.push(error.message);
          throw error;
        });
      },
      { retryMinMs: 10, retryMaxMs: 10, transactional: true },
    );
    await worker.start();
    await pgque.send(queue, 1);
    await until(() => seen.length === 2, "it is tried again");
    await until(async () => (await pgque.consumers.list(queue))[0]?.inFlight === 0, "it is settled");
    expect(seen).toEqual([1, 2]);
    expect(errors).toHaveLength(1);
    await worker.stop();
    await pgque.close();
    await pool.end();
    await database.drop();
  },
);

test.each(Object.keys(settings))("an owner with settings of %s installs, upgrades and validates", async (what) => {
  const { database, pool } = await withSettings(what, "keeper");
  const client = await pool.connect();
  await install(client, { schema: "other" });
  await client.query("begin read write; select other.create_queue('q'), other.send('q', 'x'); commit");
  expect(await install(client, { schema: "other", release: nextRelease })).toEqual({
    installed: true,
    version: nextVersion,
  });
  expect(await validate(client, { schema: "other", release: nextRelease })).toEqual([]);
  client.release();
  await pool.end();
  await database.drop();
});
