import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { doctor, illsOf, statementsOf, type Told } from "./support/doctor.ts";
import { pgque } from "./support/pgque.ts";

let server: OwnServer;
let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  server = await ownServer({ durable: true });
});
afterAll(() => server.drop());
beforeEach(async () => {
  database = await server.fresh();
  client = await database.connect();
  return () => database.drop();
});

const shared = `'{"from": "earliest", "mode": "shared"}'`;
const ills = (check: string, ...args: string[]): Promise<Told[]> => illsOf(database.url, check, ...args);

const backdate = (seconds: number): Promise<unknown> =>
  client.query(
    "select setval('pgque.heartbeat_pointer', (extract(epoch from clock_timestamp() - $1 * interval '1 s') * 1000)::bigint << 10)",
    [seconds],
  );

test("where all is well it says so, and exits with 0", async () => {
  await client.query(`select pgque.create_queue('orders'), pgque.subscribe('orders', 'billing', ${shared})`);
  const { code, out, err } = await pgque(["doctor", "--strict"], { DATABASE_URL: database.url });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain("ok       consumers      1 consumer keeps up\n");
  expect(out).toContain("ok       notifications  they arrive\n");
  // what the server has by default is no warning
  expect(out).toContain("advice   settings       idle_in_transaction_session_timeout is 0\n");
  expect(out).toMatch(/\n\nAll is well\.\n$/);
});

test("a check that is ignored is left out, which is said; one that there is not is refused", async () => {
  await client.query(
    `select pgque.create_queue('orders'), pgque.subscribe('orders', 'billing', ${shared}), pgque.send('orders', '1')`,
  );
  const late = ["--strict", "--lag", "0s"];
  expect(await doctor(database.url, ...late)).toMatchObject({ code: 1 });
  const { code, checks } = await doctor(database.url, ...late, "--ignore", "consumers", "--ignore", "rights");
  expect(code).toBe(0);
  expect(checks.filter(({ check }) => ["consumers", "rights"].includes(check))).toEqual([]);
  const { out } = await pgque(["doctor", "--ignore", "consumers"], { DATABASE_URL: database.url });
  expect(out).toMatch(/\n\nAll is well\. Not looked at: consumers\.\n$/);
  const { code: refused, err } = await pgque(["doctor", "--ignore", "schema"], { DATABASE_URL: database.url });
  expect(refused).toBe(2);
  const [, names = ""] = /expected --ignore to name one of (.*), got: "schema"/.exec(err) ?? [];
  const help = (await pgque(["doctor", "--help"])).out.replaceAll(/\s+/g, " ");
  expect(help, "the help has the same").toContain(`--ignore leaves out: ${names}.`);
});

describe("schema", () => {
  test("where it is not, only the server is looked at", async () => {
    const { code, checks } = await doctor(database.url, "--schema", "elsewhere");
    expect(code).toBe(1);
    expect(checks[0]).toEqual({
      check: "schema",
      severity: "problem",
      found: 'Pgque is not installed in schema "elsewhere" of this database',
      why: "there is no queue to send to or receive from",
      fix: ['-- pgque install --schema "elsewhere"', "-- if it is in another schema: pgque doctor --schema <name>"],
    });
    expect(new Set(checks.map(({ check }) => check))).toEqual(
      new Set(["schema", "horizon", "settings", "role-defaults", "notifications"]),
    );
  });

  test("another version is named, with what to do", async () => {
    await client.query("update pgque.meta set version = '0.0.1'");
    expect(await ills("schema")).toMatchObject([
      {
        severity: "problem",
        found: expect.stringContaining("version 0.0.1"),
        fix: ['-- pgque install --schema "pgque"'],
      },
    ]);
  });

  test("one from another cluster is a problem, and repair is its remedy", async () => {
    await client.query("update pgque.cluster_identity set system_identifier = 1");
    const [told] = await ills("maintenance");
    expect(told).toMatchObject({ severity: "problem", found: expect.stringContaining("another cluster") });
    await client.query(statementsOf(told as Told));
    expect(await ills("maintenance")).toEqual([]);
  });

  test("roles that can create in the schema, or own a function there, are named, with the statements that end it", async () => {
    await client.query(
      "drop role if exists builder; create role builder; grant create on schema pgque to builder, public",
    );
    await client.query("set role builder; create function pgque.mine() returns int language sql return 1; reset role");
    const told = await ills("rights");
    expect(told.map(({ severity, found }) => [severity, found])).toEqual([
      ["problem", "PUBLIC holds CREATE on schema pgque"],
      ["problem", "function pgque.mine() belongs to role builder"],
      ["problem", "role builder holds CREATE on schema pgque"],
    ]);
    for (const one of told) await client.query(statementsOf(one));
    expect(await ills("rights")).toEqual([]);
    await client.query("alter schema pgque owner to builder");
    const [owner] = await ills("rights");
    expect(owner).toMatchObject({
      severity: "problem",
      found: expect.stringContaining("role builder owns schema pgque"),
    });
    await client.query(statementsOf(owner as Told));
    expect(await ills("rights")).toEqual([]);
  });

  test("a role that may not look is told which grant it needs", async () => {
    await client.query("drop role if exists stranger; create role stranger login password 'secret'");
    const url = new URL(database.url);
    [url.username, url.password] = ["stranger", "secret"];
    const [told] = await illsOf(url.href, "schema");
    expect(told).toMatchObject({ severity: "problem", fix: ["grant pgque_viewer to stranger"] });
    await client.query("grant pgque_writer to stranger");
    expect(await illsOf(url.href, "rights")).toMatchObject([
      { severity: "problem", fix: ["grant pgque_viewer to stranger"] },
    ]);
    await client.query(statementsOf(told as Told));
    await client.query("grant pg_read_all_stats to stranger");
    expect(await doctor(url.href, "--strict")).toMatchObject({ code: 0 });
  });
});

test("defaults of a role or of the database that do not suit are named, with the statement that takes them away", async () => {
  const [{ current }] = (await client.query("select current_database() as current")).rows;
  await client.query(`create role "Odd one"`);
  await client.query(`alter role "Odd one" set default_transaction_isolation = serializable`);
  await client.query(`alter database ${current} set default_transaction_read_only = on`);
  const told = await ills("role-defaults");
  expect(told.map(({ found }) => found)).toEqual([
    'default_transaction_isolation is serializable for role "Odd one"',
    `default_transaction_read_only is on for database ${current}`,
  ]);
  await client.query("set default_transaction_read_only = off");
  for (const one of told) await client.query(statementsOf(one));
  expect(await ills("role-defaults")).toEqual([]);
  await client.query(`drop role "Odd one"`);
});

describe("maintenance", () => {
  test.each([
    [1520, "warning", "15m"],
    [86_420, "problem", "23h"],
  ])(
    "nobody for %d seconds is a %s where there is a queue, until somebody calls it",
    async (seconds, severity, shown) => {
      await backdate(seconds);
      expect(await ills("maintenance")).toEqual([]);
      await client.query("select pgque.create_queue('orders')");
      const [told] = await ills("maintenance");
      expect(told).toMatchObject({
        severity,
        found: expect.stringMatching(`^nobody has called maintain for ${shown}\\w+; 0 workers are alive$`),
      });
      await client.query(statementsOf(told as Told));
      expect(await ills("maintenance")).toEqual([]);
    },
  );

  test("a clock that has stepped back is seen", async () => {
    await client.query("select pgque.create_queue('orders')");
    await backdate(-7200);
    expect(await ills("maintenance")).toMatchObject([
      { severity: "warning", found: expect.stringMatching(/^the server's clock has stepped back, by (2h|1h59m)/) },
    ]);
  });

  test("what dead workers hold and what is overdue is seen", async () => {
    await client.query(`select pgque.create_queue('orders'), pgque.subscribe('orders', 'billing', ${shared})`);
    await client.query("select pgque.send('orders', 'x'), pgque.send('orders', 't', 'late', '{\"delay\": 600}')");
    await client.query("update pgque.delayed_soon_0 set due_at = clock_timestamp() - interval '1 s'");
    await client.query("select * from pgque.receive_messages('orders', 'billing', worker => 'dead', lease => '1 ms')");
    const said = async (): Promise<string[]> =>
      (await doctor(database.url)).checks.filter(({ check }) => check === "maintenance").map(({ found }) => found);
    await until(async () => (await said()).length === 4, "both are seen");
    expect((await said()).slice(2)).toEqual([
      "delayed messages are delivered in time",
      'consumer "billing" of queue "orders": a worker died, its messages are about to be requeued',
    ]);
  });
});

describe("queues", () => {
  beforeEach(async () => {
    const options = `'{"rotation_bytes": 8192, "rotation_min_interval": "0 s"}'`;
    await client.query(
      `select pgque.create_queue('orders', ${options}), pgque.subscribe('orders', 'billing', ${shared})`,
    );
    await client.query("select pgque.send_batch('orders', array_fill(repeat('x', 100), array[200]))");
  });

  test("a ring that cannot grow is told, with the reason", async () => {
    await client.query("select pgque.note_problem(1, 'grow', '42501', 'permission denied for schema pgque')");
    expect(await ills("maintenance")).toMatchObject([
      {
        severity: "problem",
        found: expect.stringMatching(
          /^queue "orders": another segment could not be added, .* ago: permission denied for schema pgque$/,
        ),
      },
    ]);
  });

  test("messages that nobody receives are told, with what to do, also when the consumer is paused", async () => {
    expect(await ills("consumers")).toEqual([]);
    expect(await ills("consumers", "--lag", "0s")).toMatchObject([
      {
        severity: "problem",
        found: expect.stringMatching(
          /^consumer "billing" of queue "orders": 200 messages wait, the oldest sent .* ago; nobody has received for .*, since it was added or moved$/,
        ),
      },
    ]);
    await client.query("select pgque.pause('orders', 'billing')");
    const [paused] = await ills("consumers", "--lag", "0s");
    expect(paused).toMatchObject({ severity: "warning", found: expect.stringContaining("it is paused") });
    await client.query(statementsOf(paused as Told));
    expect(await ills("consumers", "--lag", "0s")).toMatchObject([{ severity: "problem" }]);
  });

  test("one that was moved back has its old messages from then on", async () => {
    await client.query("update pgque.consumer set created_at = now() - interval '1 day'");
    const byAge = ["--lag", "1ms"];
    expect(await ills("consumers", ...byAge)).toMatchObject([{ severity: "problem" }]);
    await client.query("update pgque.message_1 set created_at = created_at - interval '1 day'");
    await client.query("select pgque.seek('orders', 'billing', 'earliest')");
    expect(await ills("consumers", "--lag", "1h")).toEqual([]);
    await client.query("update pgque.consumer set created_at = now() - interval '2 h'");
    expect(await ills("consumers", "--lag", "1h")).toMatchObject([
      {
        severity: "warning",
        found: expect.stringMatching(
          /oldest sent 1d.* ago; nobody has received for 2h.*, since it was added or moved$/,
        ),
      },
    ]);
  });

  test("lanes that wait for long behind a message that failed are told", async () => {
    await client.query(`select pgque.create_queue('accounts', '{"partitions": 4}')`);
    for (const [name, how] of [
      ["ledger", "block"],
      ["mirror", "skip"],
    ])
      await client.query(
        `select pgque.subscribe('accounts', '${name}', '{"mode": "ordered", "from": "earliest", "on_failure": "${how}"}')`,
      );
    await client.query(
      `select pgque.send('accounts', 't', 'x', '{"key": "a"}'), pgque.send('accounts', 't', 'y', '{"key": "a"}')`,
    );
    const fail = async (consumer: string): Promise<void> => {
      const { rows } = await client.query("select batch_id, message_id from pgque.receive_messages('accounts', $1)", [
        consumer,
      ]);
      await client.query("select pgque.nack($1, $2::bigint[], retry_after => '10 min')", [
        rows[0].batch_id,
        [rows[0].message_id],
      ]);
    };
    await fail("ledger");
    await fail("mirror");
    expect(await ills("consumers", "--lag", "11m")).toEqual([]);
    expect(await ills("consumers", "--lag", "9m")).toMatchObject([
      {
        severity: "warning",
        found: expect.stringMatching(
          /^consumer "ledger" of queue "accounts": 1 lane waits behind a message that failed or is snoozed, for 10m/,
        ),
        fix: expect.arrayContaining([expect.stringContaining("change_queue('accounts', ")]),
      },
    ]);
  });

  test("a segment that a consumer keeps is told once it has for long", async () => {
    await client.query("select pgque.maintain()");
    expect(await ills("rotation")).toEqual([]);
    expect(await ills("rotation", "--lag", "0s")).toMatchObject([
      { severity: "problem", found: expect.stringContaining("consumer billing has not received all of it") },
    ]);
  });

  test("a process that keeps a segment is told, with the statement that ends it", async () => {
    const reader = await database.connect();
    await reader.query("begin");
    await reader.query("select count(*) from pgque.message_1");
    await client.query("select pgque.maintain()");
    let told: Told | undefined;
    await until(async () => {
      told = (await ills("rotation")).find(({ found }) => found.includes("holds a lock"));
      return told !== undefined;
    }, "the reader is named");
    expect(told?.found).toMatch(/^queue "orders" keeps [\d.]+ KiB in drained segments, of \d: process \d+ /);
    const gone = new Promise<void>((resolve) => reader.once("end", () => resolve()));
    await client.query(statementsOf(told as Told));
    await gone;
    expect(await ills("rotation")).toEqual([]);
  });

  test("dead letters of the last hour are told, older ones are not", async () => {
    const { rows } = await client.query(
      "select batch_id, message_id from pgque.receive_messages('orders', 'billing', max_messages => 1)",
    );
    await client.query("select pgque.bury($1, $2::bigint[], 'no such card')", [rows[0].batch_id, [rows[0].message_id]]);
    const [told] = await ills("dead-letters");
    expect(told).toMatchObject({
      severity: "warning",
      found: 'queue "orders" has 1, 1 of the last hour, mostly because of "no such card"',
    });
    expect((await client.query(statementsOf(told as Told))).rows).toMatchObject([{ reason: "no such card" }]);
    await client.query("update pgque.dead_letter set died_at = died_at - interval '1 day'");
    expect(await ills("dead-letters")).toEqual([]);
  });
});

test("warnings alone are no failure, unless asked for", async () => {
  await client.query(
    `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`,
  );
  expect((await ills("settings")).slice(0, 1)).toMatchObject([
    { severity: "warning", found: "synchronous_commit is off" },
  ]);
  expect(await doctor(database.url)).toMatchObject({ code: 0 });
  expect(await doctor(database.url, "--strict")).toMatchObject({ code: 1 });
});

test.each(["soon", "-1s", "5 parsecs", "5"])("%j is no duration: wrong usage", async (text) => {
  const { code, err } = await pgque(["doctor", "--older-than", text], { DATABASE_URL: database.url });
  expect(code).toBe(2);
  expect(err).toContain("Expected a duration like 250ms, 30s, 5m, 2h or 1d");
});
