import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { schemaVersion } from "@pgque/sql";
import { freshDatabase, ownServer } from "../../../test/support/database.ts";
import { pgque } from "./support/pgque.ts";

test("a schema that is as installed is fine; one that was changed is not, by name and with what is expected", async () => {
  await using database = await freshDatabase();
  const env = { DATABASE_URL: database.url };
  const client = await database.connect();
  await client.query("select pgque.create_queue('orders')");
  const fine = await pgque(["validate"], env);
  expect(fine).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringContaining(`is what Pgque ${schemaVersion} installs`),
  });

  await client.query("alter table pgque.queue add column note text");
  await client.query(
    "create or replace function pgque.version() returns text language sql stable as $$ select '0.1.0' $$",
  );
  await client.query("drop index pgque.message_1_0_lane_txid_seq_idx");
  const changed = await pgque(["validate"], env);
  expect(changed).toMatchObject({ code: 1, err: "" });
  expect(changed.out).toContain("extra    column queue.note\n");
  expect(changed.out).toContain("changed  function version()\n");
  expect(changed.out).toContain('missing  index message_1_0_lane_txid_seq_idx (queue "orders")\n');
  const shown = await pgque(["validate", "--show-sql"], env);
  expect(shown.out).toMatch(
    /changed {2}function version\(\)\n {2}expected:\n {4}CREATE OR REPLACE FUNCTION pgque\.version/,
  );
  const { code, out } = await pgque(["validate", "--json"], env);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toContainEqual({
    name: "column queue.note",
    kind: "extra",
    queue: null,
    expected: null,
    found: "text default",
  });
});

test("who does not own the schema is told what it needs", async () => {
  await using server = await ownServer();
  const client = await server.connect();
  await client.query("create role guest login password 'secret'; grant pgque_reader to guest");
  const url = new URL(server.url);
  [url.username, url.password] = ["guest", "secret"];
  expect(await pgque(["validate"], { DATABASE_URL: url.href })).toMatchObject({
    code: 1,
    err: expect.stringContaining("it needs the schema's owner, with CREATE on the database, or a superuser"),
  });
});

test("on a standby it says where to ask", async () => {
  await using server = await ownServer();
  writeFileSync(path.join(server.server.folder, "data/standby.signal"), "");
  await server.server.restart();
  expect(await pgque(["validate"], { DATABASE_URL: server.url })).toMatchObject({
    code: 1,
    err: expect.stringContaining("it needs a database that accepts writes; on a standby ask its primary"),
  });
});

test("a role whose transactions are read only by default can compare", async () => {
  await using database = await freshDatabase();
  const env = { DATABASE_URL: database.url, PGOPTIONS: "-c default_transaction_read_only=on" };
  expect(await pgque(["validate"], env)).toMatchObject({ code: 0, err: "" });
});

test("status of a schema that is not there says how to install one of that name", async () => {
  await using database = await freshDatabase();
  expect(await pgque(["status", "--schema", "my queues"], { DATABASE_URL: database.url })).toMatchObject({
    code: 1,
    out: expect.stringContaining('pgque install --schema "my queues" puts it there.'),
  });
});

test("status says version, roles and queues, and exits with 1 when this command line is not served", async () => {
  await using database = await freshDatabase();
  const env = { DATABASE_URL: database.url };
  const client = await database.connect();
  await client.query("select pgque.create_queue('orders'), pgque.subscribe('orders', 'billing')");
  await client.query("select pgque.send('orders', 'x')");
  const { code, out } = await pgque(["status", "--json"], env);
  expect({ code, found: JSON.parse(out) }).toEqual({
    code: 0,
    found: {
      schema: "pgque",
      version: schemaVersion,
      needs: schemaVersion,
      serves: true,
      roles: expect.toSatisfy((roles: unknown[]) => roles.length === 0 || roles.length === 4),
      queues: [{ queue: "orders", consumerCount: 1, depth: 1, estimated: false, deadLetters: 0 }],
      locks: [],
    },
  });
  const text = await pgque(["status"], env);
  expect(text.out).toMatch(/^Pgque \S+ in schema "pgque" .* serves.*\nRoles: .*\nqueue .*\norders +1 +1 +0\n$/);
  expect(await pgque(["status", "--schema", "none"], env)).toMatchObject({
    code: 1,
    out: expect.stringContaining("is not installed"),
  });
  await client.query("update pgque.meta set version = '999.0.0'");
  const newer = await pgque(["status"], env);
  expect(newer).toMatchObject({ code: 1, out: expect.stringContaining("does not serve") });
});
