import { install, installedVersion, packagedRelease, schemaVersion, script, uninstall } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await uninstall(client);
});
afterEach(() => database.drop());

test("installs once, and says so when it is there already", async () => {
  expect(await installedVersion(client)).toBeNull();
  expect(await install(client)).toEqual({ installed: true, version: schemaVersion });
  expect(await install(client)).toEqual({ installed: false, version: schemaVersion });
  expect((await client.query("select pgque.version()")).rows[0].version).toBe(schemaVersion);
});

test("a schema that others use is left alone, an empty one is taken", async () => {
  await client.query("create schema app create table orders (id int)");
  await client.query("create schema calls");
  await client.query("create function calls.one() returns int language sql return 1");
  await client.query("create schema empty");
  for (const schema of ["app", "calls"])
    await expect(install(client, { schema })).rejects.toMatchObject({
      code: "PQ004",
      message: `expected schema ${schema} to be empty or not to be there, found objects in it`,
    });
  await expect(client.query(script("app"))).rejects.toMatchObject({ code: "PQ004" });
  await client.query("rollback");
  expect(await install(client, { schema: "empty" })).toMatchObject({ installed: true });
});

test("twenty installers at once: one of them installs", async () => {
  const clients = await Promise.all(Array.from({ length: 20 }, () => database.connect()));
  const results = await Promise.all(clients.map((one) => install(one)));
  expect(results.filter((result) => result.installed)).toHaveLength(1);
});

for (const schema of ["queues", "We\"ird Schéma %s $$ 'x'", "select", "a${queue}{schema}%1$s$body$\\\n'\""]) {
  test(`works in a schema named ${schema}, beside another, with an empty search_path`, async () => {
    await install(client);
    await install(client, { schema });
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await client.query(`select ${quoted}.create_queue('q'), ${quoted}.subscribe('q', 'c')`);
    await client.query(`select ${quoted}.send('q', 'hello')`);
    const { rows } = await client.query(`select batch_id, payload from ${quoted}.receive('q', 'c')`);
    expect(rows.map((row) => row.payload)).toEqual(["hello"]);
    await client.query(`select ${quoted}.nack(batch_id => $1, message_ids => '{1}', retry_after => '0 s')`, [
      rows[0].batch_id,
    ]);
    await client.query(`select ${quoted}.maintain()`);
    expect((await client.query(`select payload from ${quoted}.receive('q', 'c')`)).rows).toEqual([
      { payload: "hello" },
    ]);
    await expect(client.query("select pgque.send('q', 'x')")).rejects.toMatchObject({ code: "PQ001" });
    await uninstall(client, { schema });
    expect(await installedVersion(client, { schema })).toBeNull();
    expect(await installedVersion(client)).toBe(schemaVersion);
  });
}

test("refuses another version, and names both", async () => {
  await install(client);
  await client.query("update pgque.meta set version = '99.0.0'");
  await expect(install(client)).rejects.toThrow(
    `expected schema pgque to be of version ${schemaVersion}, one that leads to it, or not there yet, found version 99.0.0`,
  );
});

test("an install that fails leaves nothing behind", async () => {
  await client.query("create schema pgque");
  const broken = { file: "core/broken.sql", kind: "object", sql: "select 1 / 0" } as const;
  const release = { ...packagedRelease, statements: [...packagedRelease.statements, broken] };
  await expect(install(client, { release })).rejects.toThrow("division by zero");
  const { rows } = await client.query("select from pg_class where relnamespace = 'pgque'::regnamespace");
  expect(rows).toEqual([]);
});

test("uninstall drops the schema, and nothing that is not ours", async () => {
  await client.query("create schema pgque");
  await client.query("create table pgque.mine (i int)");
  await uninstall(client);
  expect((await client.query("select to_regclass('pgque.mine') as mine")).rows[0].mine).not.toBeNull();
});

test("the script for a DBA does the same", async () => {
  await client.query(script("by_hand"));
  expect(await installedVersion(client, { schema: "by_hand" })).toBe(schemaVersion);
});
