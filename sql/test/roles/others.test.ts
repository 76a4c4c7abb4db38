import { install, packagedRelease, type Release, script, validate } from "@pgque/sql";
import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { changed, patchVersion } from "../../../test/support/next-release.ts";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";

// What other roles hold in the schema, or are given by the database's defaults.

let server: OwnServer;
let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  server = await ownServer();
  const admin = await server.connect();
  await admin.query("create role bare; create role builder; create role owner; create role vague");
});
afterAll(() => server.drop());
beforeEach(async () => {
  database = await server.fresh();
  client = await database.connect();
  return () => database.drop();
});

const hint =
  "Install into a schema that does not exist yet: who can create in it can add functions that the owner runs.";

test.each([
  ["create schema app authorization builder", "owned by builder"],
  ["create schema app; grant create on schema app to builder", "open to CREATE by builder"],
  ["create schema app; grant all on schema app to public", "open to CREATE by PUBLIC"],
])("install refuses an empty schema that others can create in: %s", async (sql, found) => {
  await client.query(sql);
  const refused = {
    code: "PQ004",
    message: `expected schema app to be owned by postgres and no other role to hold CREATE on it, found it ${found}`,
    hint,
  };
  await expect(install(client, { schema: "app" })).rejects.toMatchObject(refused);
  await expect(client.query(script("app"))).rejects.toMatchObject({ code: "PQ004", hint });
});

test("install refuses a schema with a domain of others in it", async () => {
  await client.query("create schema app; create domain app.caller as text");
  await expect(install(client, { schema: "app" })).rejects.toMatchObject({
    code: "PQ004",
    message: "expected schema app to be empty or not to be there, found objects in it",
  });
});

test("validate names a role that holds CREATE on the schema since, and another owner", async () => {
  await client.query("grant create on schema pgque to builder");
  expect(await validate(client)).toMatchObject([{ name: "right schema to builder", kind: "extra", found: "CREATE" }]);
  await client.query("revoke create on schema pgque from builder; alter schema pgque owner to builder");
  expect(await validate(client)).toContainEqual(
    expect.objectContaining({ kind: "changed", found: expect.stringContaining("owned by another role") }),
  );
});

/** A version with one function more. */
const more = {
  file: "core/more.sql",
  kind: "routine",
  sql: "create function more() returns int language sql return 1",
} as const;
const patch = changed(packagedRelease, patchVersion, [], [more]);

/** What roles other than the owner and Pgque's hold on anything in a schema. */
const held = async (schema: string): Promise<string[]> =>
  (
    await client.query(
      `select o.name || ': ' || g.privilege_type || ' to ' || coalesce(r.rolname, 'PUBLIC') as held
         from (
           select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner from pg_proc p where p.pronamespace = $1::regnamespace
           union all
           select c.oid::regclass::text, c.relacl, c.relowner from pg_class c where c.relnamespace = $1::regnamespace
           union all
           select t.oid::regtype::text, coalesce(t.typacl, acldefault('T', t.typowner)), t.typowner
             from pg_type t left join pg_class c on c.oid = t.typrelid
            where t.typnamespace = $1::regnamespace and (t.typtype in ('d', 'e') or c.relkind = 'c')
           union all
           select n.nspname, n.nspacl, n.nspowner from pg_namespace n where n.oid = $1::regnamespace
         ) as o(name, acl, owner)
        cross join lateral aclexplode(o.acl) g
         left join pg_roles r on r.oid = g.grantee
        where g.grantee <> o.owner and coalesce(r.rolname, '') not like $1 || '\\_%'`,
      [schema],
    )
  ).rows.map((row) => row.held);

test("default privileges give nobody a right to what is installed, or made for a queue later", async () => {
  for (const who of ["public", "bare"])
    for (const what of ["all on tables", "all on sequences", "all on functions", "all on types", "all on schemas"])
      await client.query(`alter default privileges grant ${what} to ${who}`);
  await install(client, { schema: "fresh" });
  await client.query("create schema empty");
  await client.query("revoke all on schema empty from public, bare");
  await client.query("alter default privileges in schema empty grant select on tables to bare");
  await install(client, { schema: "empty" });
  for (const schema of ["fresh", "empty"]) {
    await client.query(`select ${schema}.create_queue('q', '{"partitions": 16}'), ${schema}.grow_ring(1, 3)`);
    await client.query(`select ${schema}.send('q', 'secret')`);
    expect(await held(schema)).toEqual([]);
    await install(client, { schema, release: patch });
    expect(await held(schema)).toEqual([]);
  }
  await client.query("set role bare");
  for (const call of [
    "select fresh.version()",
    "select fresh.send('q', 'x')",
    "select fresh.send_1('t', 'x', null, false)",
    "select * from fresh.message_1_0",
    "create function fresh.mine() returns int language sql return 1",
  ])
    await expect(client.query(call)).rejects.toMatchObject({ code: "42501" });
});

test("nor to what a migration creates, also while it has not come to its end", async () => {
  for (const who of ["public", "bare"])
    for (const what of ["all on tables", "all on sequences", "all on functions", "all on types"])
      await client.query(`alter default privileges grant ${what} to ${who}`);
  await install(client, { schema: "fresh" });
  await client.query("select fresh.create_queue('q')");
  // what an operator has granted stays, also on what a migration changes
  await client.query("grant select on fresh.queue to vague; grant execute on function fresh.version() to vague");
  const kept = ["fresh.queue: SELECT to vague", "fresh.version(): EXECUTE to vague"];
  const created = `
    create table more_rows (n int) partition by list (n);
    create table more_rows_1 partition of more_rows for values in (1);
    create sequence more_n;
    create view more_seen as select * from more_rows;
    create type more_kind as enum ('a');
    create domain more_text as text;
    create type more_pair as (a int, b int);
    create function more_done() returns int language sql return 1;
    create function version(of int) returns int language sql return of;
    alter table queue add column more int;`;
  const createdForQueue = `
    create table more_<queue> (n int);
    create sequence more_seq_<queue>;
    create function more_<queue>() returns int language sql return 1;
    alter table message_<queue> add column more int;`;
  const release = (functionsSql: string): Release => ({
    ...patch,
    migrations: [
      { number: 2, name: "002_more", version: patchVersion, queueSql: createdForQueue, sql: created, functionsSql },
    ],
  });
  const half = install(client, { schema: "fresh", release: release("select 1 / 0;") });
  await expect(half).rejects.toThrow("division by zero");
  await client.query("select 'fresh.more_1'::regclass, fresh.more_done(), 'fresh.more_kind'::regtype");
  expect((await held("fresh")).toSorted()).toEqual(kept);
  const functionsSql =
    "create function more_still() returns int language sql return 1; create table more_last (n int);";
  await install(client, { schema: "fresh", release: release(functionsSql) });
  await client.query("select 'fresh.more_last'::regclass, fresh.more(), fresh.more_still()");
  expect((await held("fresh")).toSorted()).toEqual(kept);
});

test("a role that default privileges name keeps what it is granted of a queue", async () => {
  await client.query("alter default privileges grant all on functions to bare");
  await install(client, { schema: "fresh" });
  await client.query("select fresh.create_queue('q'), fresh.grant_queue('q', 'bare', 'send')");
  await client.query("select fresh.create_queue('other'), fresh.grow_ring(1, 3)");
  await install(client, { schema: "fresh", release: patch });
  await client.query("set role bare");
  await client.query("select fresh.send('q', 'x')");
  await expect(client.query("select fresh.send('other', 'x')")).rejects.toMatchObject({ code: "42501" });
});
