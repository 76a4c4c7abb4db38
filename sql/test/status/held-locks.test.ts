import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { createIntruder, intrude } from "../../../test/support/intruder.ts";
import { backendPid, blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { makeQueue } from "../support/queue.ts";

// Roles belong to the cluster: one of its own.

let server: OwnServer;
let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeAll(async () => {
  server = await ownServer({ settings: { max_prepared_transactions: "5" } });
  const admin = await server.connect();
  await admin.query("create role looker; create role worker; create role neighbour");
  await createIntruder(server);
});
afterAll(() => server.drop());
beforeEach(async () => {
  database = await server.fresh();
  [a, b] = [await database.connect(), await intrude(database)];
  await makeQueue(a, ["c", "d"]);
  await a.query("select pgque.create_queue('other')");
  await a.query(
    "grant pgque_viewer to looker; select pgque.grant_queue('q', 'worker', 'receive'), pgque.grant_queue('other', 'neighbour', 'receive')",
  );
  return async () => {
    await b.end();
    await database.drop();
  };
});

type Row = Record<string, unknown>;
const heldAs = async (role: string, args = "longer_than => '0.1 s'"): Promise<Row[]> => {
  await a.query("begin");
  await a.query(`set local role ${role}`);
  try {
    return (await a.query(`select * from pgque.held_locks(${args})`)).rows;
  } finally {
    await a.query("rollback");
  }
};
const held = async (role = "looker"): Promise<Row[]> => heldAs(role);
const keyOf = async (purpose: string, consumer?: string): Promise<string> => {
  const { rows } = await a.query(
    "select key from pgque.lock_purposes('postgres') where purpose = $1 and queue_name is not distinct from $2 and consumer is not distinct from $3",
    [purpose, ofQueue.has(purpose) ? "q" : null, consumer ?? null],
  );
  return rows[0].key;
};
const ofQueue = new Set(["maintain", "subscribe", "idle", "cursor"]);

test.each(["cursor", "maintain", "subscribe", "idle", "registry", "delayed", "heartbeat", "dedupe", "schedule"])(
  "whoever holds the lock %s for long is named, and nobody else",
  async (purpose) => {
    const key = await keyOf(purpose, purpose === "cursor" ? "c" : undefined);
    expect(await held()).toEqual([]);
    await b.query("select pg_advisory_lock($1::bigint)", [key]);
    const pid = await backendPid(b);
    await until(async () => (await held()).length > 0, "it is listed");
    expect(await held()).toEqual([
      {
        queue_name: ofQueue.has(purpose) ? "q" : null,
        consumer: purpose === "cursor" ? "c" : null,
        purpose,
        pid,
        prepared_transaction: null,
        role_name: "mallory",
        application_name: "intruder",
        since: expect.any(Date),
        waiting: 0,
      },
    ]);
    expect(await heldAs("looker", ""), "not yet for ten seconds").toEqual([]);
    await b.query("select pg_advisory_unlock_all()");
    expect(await held()).toEqual([]);
  },
);

test("the keys are those which the functions lock", async () => {
  const taken = async (statement: string): Promise<string[]> => {
    await a.query("begin");
    await a.query(statement);
    const { rows } = await a.query(
      `select p.purpose from pg_locks l
         join pgque.lock_purposes('postgres') p on p.key = (l.classid::bigint << 32) | l.objid::bigint
        where l.locktype = 'advisory' and l.pid = pg_backend_pid() and coalesce(p.queue_name, 'q') = 'q' order by 1`,
    );
    await a.query("rollback");
    return rows.map(({ purpose }) => purpose);
  };
  expect(await taken("select pgque.receive('q', 'c')")).toEqual(["cursor"]);
  expect(await taken("select pgque.subscribe('q', 'e')")).toEqual(["maintain", "registry", "subscribe"]);
  expect(await taken("select pgque.pause('q')")).toEqual(["maintain", "registry"]);
  expect(await taken("select pgque.deliver_delayed('q')")).toEqual(["delayed"]);
  expect(await taken("select pgque.raise_idle_flag('q')")).toEqual(["idle"]);
  await a.query("select pg_advisory_unlock_all()");
  expect(await taken("select pgque.rotate_heartbeats()")).toEqual(["heartbeat"]);
});

test("an open transaction holds it since it began, and says how many wait", async () => {
  await b.query("begin");
  await b.query("select pg_advisory_xact_lock($1::bigint)", [await keyOf("cursor", "c")]);
  const c = await database.connect();
  const receive = await blocked(a, c, "select pgque.receive('q', 'c')");
  await until(async () => (await held()).length > 0, "it is listed");
  const { rows } = await a.query("select xact_start from pg_stat_activity where application_name = 'intruder'");
  expect(await held()).toMatchObject([{ purpose: "cursor", since: rows[0].xact_start, waiting: 1 }]);
  await b.query("rollback");
  await receive.result;
});

test("a session that goes on holds it since before somebody began to wait", async () => {
  await b.query("select pg_advisory_lock($1::bigint)", [await keyOf("cursor", "c")]);
  const c = await database.connect();
  const receive = await blocked(a, c, "select pgque.receive('q', 'c')");
  await until(async () => {
    await b.query("select 1");
    const { rows } = await a.query(
      "select clock_timestamp() - waitstart > '0.3 s' as long from pg_locks where not granted",
    );
    return rows[0].long;
  }, "it has waited");
  await b.query("select 1");
  const { rows } = await a.query("select waitstart from pg_locks where not granted");
  expect(await held()).toMatchObject([{ purpose: "cursor", since: rows[0].waitstart }]);
  await b.query("select pg_advisory_unlock_all()");
  await receive.result;
});

test("a prepared transaction is named by its identifier", async () => {
  await b.query("begin");
  await b.query("select pg_advisory_xact_lock($1::bigint)", [await keyOf("maintain")]);
  await b.query("prepare transaction 'forgotten'");
  await until(async () => (await held()).length > 0, "it is listed");
  expect(await held()).toMatchObject([
    { purpose: "maintain", pid: null, prepared_transaction: "forgotten", role_name: "mallory" },
  ]);
  await b.query("rollback prepared 'forgotten'");
});

test("sessions that raise the idle flag are not meant", async () => {
  const c = await database.connect();
  await c.query("select pgque.raise_idle_flag('q')");
  await until(async () => {
    const { rows } = await a.query(
      "select state_change < clock_timestamp() - interval '0.2 s' as long from pg_stat_activity where pid = $1",
      [(c as unknown as { processID: number }).processID],
    );
    return rows[0].long;
  }, "it has been up for longer");
  expect(await held()).toEqual([]);
});

test("who may receive from one queue sees its locks alone, and who may nothing is refused", async () => {
  await b.query("select pg_advisory_lock($1::bigint), pg_advisory_lock($2::bigint)", [
    await keyOf("cursor", "c"),
    await keyOf("registry"),
  ]);
  await until(async () => (await held()).length === 2, "both are listed");
  expect((await held("worker")).map(({ purpose }) => purpose)).toEqual(["cursor"]);
  expect(await held("neighbour")).toEqual([]);
  expect(await heldAs("neighbour", "'other', '0 s'")).toEqual([]);
  await expect(heldAs("neighbour", "'q'")).rejects.toMatchObject({ code: "42501" });
  await expect(held("mallory")).rejects.toMatchObject({ code: "42501" });
  await expect(heldAs("looker", "'none'")).rejects.toMatchObject({ code: "PQ001" });
});
