import { install, schemaVersion, validate } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, ownServer, type TestDatabase } from "../../../test/support/database.ts";
import { drain, makeQueue, send } from "../support/queue.ts";

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

/** The names of what differs, by what is wrong with them. */
const found = async (): Promise<string[]> => (await validate(client)).map(({ kind, name }) => `${kind} ${name}`);

test.each(["pgque", `Warte "schlange" o'clock 100%`])(
  "a schema named %s with queues in use is as it was installed",
  async (schema) => {
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await install(client, { schema });
    const call = (text: string) => client.query(`select ${quoted}.${text}`);
    await call("create_queue('plain')");
    await call(`create_queue('urgent', '{"priorities": 3}')`);
    await call(`create_queue('by key', '{"partitions": 4, "allow_expiry": true, "allow_cancel": true}')`);
    for (let i = 0; i < 6; i++) await call(`create_queue('more ${i}')`);
    await call("drop_queue('more 3')");
    await call("subscribe('plain', 'c')");
    await call("send('plain', 'x')");
    expect(await validate(client, { schema })).toEqual([]);
    // nothing of it stays, and nothing of the schema went
    expect((await call("receive('plain', 'c')")).rows).toHaveLength(1);
    expect((await client.query("select from pg_namespace where nspname = 'pgque_to_validate'")).rows).toEqual([]);
  },
);

test.each([
  [
    "create or replace function pgque.lock_key(purpose text, queue_id int, consumer_id int = 0, lane int = 0) returns bigint language sql return 7",
    ["changed function lock_key(purpose text, queue_id integer, consumer_id integer, lane integer)"],
  ],
  ["drop function pgque.create_roles", ["missing function create_roles()"]],
  ["alter function pgque.create_roles reset search_path", ["changed function create_roles()"]],
  ["grant select on pgque.queue to public", ["extra right relation queue to public"]],
  ["revoke usage on schema pgque from public, pgque_writer", ["missing right schema to pgque_writer"]],
  ["alter table pgque.queue add column note text", ["extra column queue.note"]],
  [
    "create function pgque.mine() returns int language sql return 1",
    ["extra function mine()", "extra right function mine() to public"],
  ],
  ["create table pgque.backup_2026 as select 1 as i", ["extra column backup_2026.i", "extra relation backup_2026"]],
  ["alter table pgque.dead_letter set (fillfactor = 50)", ["changed relation dead_letter"]],
])("says what differs after %s", async (change, expected) => {
  await client.query(change);
  expect(await found()).toEqual(expected);
});

test("a queue that has been worked with is as it was made, while senders have it in use", async () => {
  await makeQueue(client);
  await client.query("select pgque.grow_ring(1, 3)");
  await send(client, "a", "b");
  expect(await drain(client)).toEqual(["a", "b"]);
  const sender = await database.connect();
  await sender.query("begin");
  await send(sender, "open");
  expect(await validate(client)).toEqual([]);
  await sender.query("commit");
});

test("it holds no lock on what is there that anybody but DDL waits for", async () => {
  await makeQueue(client);
  let locks: unknown[] = [];
  const looking = {
    async query(text: string, values?: unknown[]) {
      // the schema that is there is the renamed one, until all is rolled back
      if (text === "rollback") {
        const { rows } = await client.query(
          `select distinct l.mode from pg_locks l join pg_class c on c.oid = l.relation
            where l.pid = pg_backend_pid() and c.relnamespace = 'pgque_to_validate'::regnamespace`,
        );
        locks = rows;
      }
      return client.query(text, values);
    },
  };
  expect(await validate(looking)).toEqual([]);
  expect(locks).toEqual([{ mode: "AccessShareLock" }]);
});

test("what grant_queue has given is as it should be; what is left of it is not", async () => {
  await using server = await ownServer();
  const admin = await server.connect();
  await admin.query("create role app; create role other");
  await install(admin);
  await admin.query("select pgque.create_queue('q'), pgque.create_queue('r')");
  await admin.query("select pgque.grant_queue('q', 'app', 'send'), pgque.grant_queue('r', 'app', 'receive')");
  await admin.query("select pgque.grant_queue('q', 'other', 'receive')");
  expect(await validate(admin)).toEqual([]);
  await admin.query("revoke execute on function pgque.send_batch_1 from app");
  await admin.query("grant execute on function pgque.send_1 to public");
  expect((await validate(admin)).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    expect.stringMatching(/^extra right function send_1\(.* to public$/),
    expect.stringMatching(/^missing right function send_batch_1\(.* to app$/),
  ]);
});

test("a function that was generated for a queue is compared, and says what is expected", async () => {
  const { rows } = await client.query("select pgque.create_queue('q'), (select max(id) from pgque.queue) as id");
  const id = rows[0].id ?? 1;
  await client.query(`create or replace function pgque.ack_${id}(batch bigint) returns int language sql return 0`);
  const differences = await validate(client);
  expect(differences).toMatchObject([
    { kind: "changed", name: `function ack_${id}(batch bigint)`, found: expect.stringContaining("RETURN 0") },
  ]);
  expect(differences[0]?.expected).toContain("plpgsql");
});

test("a schema of another version, or none, is not compared", async () => {
  await expect(validate(client, { schema: "nowhere" })).rejects.toThrow("nothing installed there");
  await client.query("update pgque.meta set version = '999.0.0'");
  await expect(validate(client)).rejects.toThrow(`expected schema pgque to be of version ${schemaVersion}`);
});

test("an owner that may not create roles validates a schema without them", async () => {
  await using server = await ownServer();
  const admin = await server.connect();
  await admin.query("create role plain login password 'secret'");
  await admin.query(`grant create on database "${new URL(server.url).pathname.slice(1)}" to plain`);
  const plain = await server.connect();
  await plain.query("set role plain");
  await install(plain, { schema: "mine" });
  expect(await validate(plain, { schema: "mine" })).toEqual([]);
  expect(await validate(admin, { schema: "mine" })).toEqual([]);
});
