import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

// What the catalog must look like, with everything there that is generated: queues, one of them with a ring that has grown.

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await client.query("select pgque.create_queue('q'), pgque.create_queue('grown')");
  await client.query("select pgque.grow_ring(2, 3)");
});
afterAll(() => database.drop());

const names = async (query: string): Promise<string[]> => (await client.query(query)).rows.map(({ name }) => name);

const schema = "pgque'::regnamespace";

test("every function of the catalogue is there, and in it once", async () => {
  const there = await names(
    `select distinct regexp_replace(proname, '_\\d+$', '_<queue>') as name from pg_proc where pronamespace = '${schema}`,
  );
  const listed = await names("select function_name as name from pgque.function_privileges()");
  expect(listed.filter((name) => !there.includes(name))).toEqual([]);
  expect(listed.length).toBe(new Set(listed).size);
});

test("every SECURITY DEFINER function pins its search_path, to the schema and pg_temp last; generated ones to pg_catalog", async () => {
  expect(
    await names(
      `select oid::regprocedure::text as name from pg_proc
        where pronamespace = '${schema} and prosecdef
          and not coalesce(case when proname ~ '_\\d+$' then 'search_path=pg_catalog, pg_temp' else 'search_path=pgque, pg_temp' end = any (proconfig), false)`,
    ),
  ).toEqual([]);
});

test("so does every other, unless its body was read when it was created, or it is one of those that must not", async () => {
  expect(
    (
      await names(
        `select distinct proname as name from pg_proc
          where pronamespace = '${schema} and prosqlbody is null and not prosecdef
            and not coalesce('search_path=pgque, pg_temp' = any (proconfig), false)`,
      )
    ).toSorted(),
  ).toEqual(
    // a setting would cost every call of the dispatchers, which qualify what they call; a procedure that commits may not have one
    ["ack", "maintain_all", "receive_messages", "send", "send_batch"],
  );
});

test("what does not pin its search_path does not run with the owner's rights", async () => {
  expect(
    await names(
      `select oid::regprocedure::text as name from pg_proc
        where pronamespace = '${schema} and prosecdef and proconfig is null`,
    ),
  ).toEqual([]);
});

test("PUBLIC has no privilege on the schema, a function, a table, a sequence or a type", async () => {
  expect(
    await names(
      `select n.nspname as name from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) g
        where n.oid = '${schema} and g.grantee = 0
        union all
       select p.oid::regprocedure::text from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
        where p.pronamespace = '${schema} and g.grantee = 0
        union all
       select c.oid::regclass::text
         from pg_class c, aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) g
        where c.relnamespace = '${schema} and c.relkind in ('r', 'p', 'S', 'v', 'm', 'f') and g.grantee = 0
        union all
       select a.attrelid::regclass || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = '${schema} and a.attacl is not null
        union all
       -- the types that are the rows of tables aside: nobody can name them who cannot use the schema
       select t.oid::regtype::text
         from pg_type t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) g
        where t.typnamespace = '${schema} and g.grantee = 0 and t.typelem = 0
          and not exists (select from pg_class c where c.oid = t.typrelid and c.relkind <> 'c')`,
    ),
  ).toEqual([]);
});

test("nobody but the owner has a privilege on a table, a sequence or a type, and nobody may create in the schema", async () => {
  expect(
    await names(
      `select c.oid::regclass::text as name from pg_class c, aclexplode(c.relacl) g
        -- those of PgQue's views are functions that ask for the right
        where c.relnamespace = '${schema} and g.grantee <> c.relowner and not (c.relkind = 'v' and g.privilege_type = 'SELECT')
        union all
       select t.oid::regtype::text from pg_type t, aclexplode(t.typacl) g
        where t.typnamespace = '${schema} and g.grantee <> t.typowner
        union all
       select n.nspname from pg_namespace n, aclexplode(n.nspacl) g
        where n.oid = '${schema} and g.grantee <> n.nspowner and g.privilege_type = 'CREATE'`,
    ),
  ).toEqual([]);
});

test("the argument caller is the last one and is left out: its default is who calls", async () => {
  expect(
    await names(
      `select oid::regprocedure::text as name from pg_proc
        where pronamespace = '${schema} and 'pgque.caller'::regtype = any (proargtypes)
          and pg_get_function_arguments(oid) !~ 'caller pgque\\.caller DEFAULT (\\()?CURRENT_USER(\\)?::.*)?$'`,
    ),
  ).toEqual([]);
});

test("every function with the owner's rights that takes a queue or a batch, and needs the right to receive, asks for it", async () => {
  expect(
    await names(
      `select p.oid::regprocedure::text as name
         from pg_proc p join pgque.function_privileges() f on f.function_name = p.proname
        where p.pronamespace = '${schema} and f.privilege = 'receive' and p.prosecdef
          and p.proargnames && '{queue,queue_name,batch_id}'
          and not 'pgque.caller'::regtype = any (p.proargtypes)
        order by 1`,
    ),
    // anybody may rotate, recover and deliver what is due: that is what every worker does
  ).toEqual(["pgque.maintain(text)", "pgque.maintain_queue(text)"]);
});

test("no function with a setting has its statements compiled, but for the two that touch one row", async () => {
  const compiled = await names(
    `select distinct regexp_replace(proname, '_\\d+$', '_<queue>') as name from pg_proc
      where pronamespace = '${schema} and prokind = 'f' and proconfig is not null and not 'jit=off' = any (proconfig)`,
  );
  // one row of VALUES, and one row by a unique index: no estimate makes these cost more than jit_above_cost
  expect(compiled.toSorted()).toEqual(["ack_<queue>", "send_<queue>"]);
});

test("a function without settings reads no table, but for dispatchers that look up a queue they do not know", async () => {
  expect(
    await names(
      `select distinct p.proname as name
         from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = '${schema} and p.proconfig is null
          and (
            -- a body that was read when it was created depends on what it reads
            exists (
              select from pg_depend d join pg_class c on c.oid = d.refobjid and c.relkind in ('r', 'p', 'v')
               where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass
            )
            or l.lanname = 'plpgsql' and p.prosrc ~* '\\m(from|join|into|update)\\s'
          )
        order by 1`,
    ),
    // one row by its unique name
  ).toEqual(["receive_messages", "send", "send_batch"]);
});
