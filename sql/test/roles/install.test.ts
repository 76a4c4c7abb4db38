import { install, uninstall } from "@pgque/sql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Client } from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { databaseUrl } from "../../../test/support/server.ts";
import { until } from "../../../test/support/until.ts";

let server: OwnServer;
let admin: Client;
const opened: Client[] = [];

beforeAll(async () => {
  server = await ownServer();
  admin = await server.connect();
  // the template's install has made the roles: without it, as on a new cluster
  await uninstall(admin);
  await admin.query("drop database pgque_template");
  await admin.query("drop role pgque_viewer, pgque_reader, pgque_writer, pgque_admin");
});
afterAll(async () => {
  await Promise.all(opened.map((client) => client.end()));
  await server.drop();
});

/** A database of a login of its own, who may create schemas in it and nothing else, and a connection of that login. */
async function database(name: string, attributes = ""): Promise<Client> {
  await admin.query(`create role ${name} login ${attributes} password 'secret'`);
  await admin.query(`create database ${name} owner ${name}`);
  return connect(name, name);
}

async function connect(name: string, user?: string): Promise<Client> {
  const url = new URL(databaseUrl(server.url, name));
  if (user) [url.username, url.password] = [user, "secret"];
  const client = new Client({ connectionString: url.href, options: "-c search_path=" });
  client.on("error", () => undefined);
  await client.connect();
  opened.push(client);
  return client;
}

const roles = async (like: string): Promise<string[]> =>
  (
    await admin.query(`select rolname from pg_roles where starts_with(rolname, $1) order by rolname collate "C"`, [
      like,
    ])
  ).rows.map((row) => row.rolname);

const status = async (client: Client, schema = "pgque"): Promise<unknown> =>
  (await client.query(`select status, detail from "${schema}".status() where component = 'roles'`)).rows[0];

const none = {
  status: "info",
  detail: "none: the schema was installed without, the owner or a superuser may call create_roles()",
};

/** What the owner of a schema does with it. */
async function live(client: Client): Promise<string[]> {
  await client.query(`select pgque.create_queue('q'), pgque.subscribe('q', 'c', '{"mode": "shared"}')`);
  await client.query(`select pgque.send('q', 'a'), pgque.send('q', 't', 'b', '{"delay": 0.001}')`);
  const payloads: string[] = [];
  while (payloads.length < 2) {
    await client.query("select pgque.maintain()");
    const { rows } = await client.query("select batch_id, payload from pgque.receive('q', 'c')");
    for (const row of rows) payloads.push(row.payload);
    if (rows.length > 0) await client.query("select pgque.ack($1)", [rows[0].batch_id]);
  }
  return payloads;
}

test("the owner of a database, who may not create roles, installs without, and it works", async () => {
  const owner = await database("plain");
  await install(owner);
  expect(await status(owner)).toEqual(none);
  expect(await roles("pgque_")).toEqual([]);
  expect(await live(owner)).toEqual(["a", "b"]);
  await expect(owner.query("select pgque.create_roles()")).rejects.toMatchObject({
    code: "42501",
    message: "role pgque_viewer is not there, and plain may not create it",
    hint: "Have a superuser call create_roles(), or create pgque_viewer, pgque_reader, pgque_writer and pgque_admin and call it again.",
  });
  // queues can be granted all the same
  await admin.query("create role courier");
  await owner.query("select pgque.grant_queue('q', 'courier', 'send')");
});

test("a superuser makes the roles later, for the queues that are there and those that come", async () => {
  const superuser = await connect("plain");
  expect((await superuser.query("select pgque.create_roles() as created")).rows).toEqual([{ created: 4 }]);
  expect((await superuser.query("select pgque.create_roles() as created")).rows).toEqual([{ created: 0 }]);
  expect(await status(superuser)).toEqual({
    status: "ok",
    detail: "pgque_admin, pgque_reader, pgque_viewer, pgque_writer",
  });
  const owner = await connect("plain", "plain");
  await owner.query("select pgque.create_queue('later')");
  await superuser.query("set role pgque_writer");
  await superuser.query("select pgque.send('q', 'x'), pgque.send('later', 'x')");
});

test("roles that are there are used, by an owner who may not create any", async () => {
  const owner = await database("second");
  await install(owner);
  expect(await status(owner)).toMatchObject({ status: "ok" });
  await admin.query("create role guest login password 'secret' in role pgque_writer");
  const guest = await connect("second", "guest");
  await owner.query("select pgque.create_queue('q')");
  await guest.query("select pgque.send('q', 'x')");
  await expect(guest.query("select * from pgque.receive('q', 'c')")).rejects.toMatchObject({ code: "42501" });
});

test("an owner who may create roles makes them", async () => {
  const owner = await database("creator", "createrole");
  await install(owner, { schema: "theirs" });
  expect(await roles("theirs_")).toEqual(["theirs_admin", "theirs_reader", "theirs_viewer", "theirs_writer"]);
  await owner.query("create role member; grant theirs_reader to member");
});

test("installers into four databases of a cluster at once make the roles once", async () => {
  const clients: Client[] = [];
  for (let i = 0; i < 4; i++) {
    await admin.query(`create database together_${i}`);
    clients.push(await connect(`together_${i}`));
  }
  await Promise.all(clients.map((client) => install(client, { schema: "together" })));
  expect(await roles("together_")).toEqual(["together_admin", "together_reader", "together_viewer", "together_writer"]);
  for (const client of clients) expect(await status(client, "together")).toMatchObject({ status: "ok" });
});

test("an installer that waits for another's roles makes them when the other gives up", async () => {
  await admin.query("create database one");
  await admin.query("create database two");
  const [one, two] = [await connect("one"), await connect("two")];
  await one.query("begin");
  await one.query("create role waited_viewer");
  const installed = install(two, { schema: "waited" });
  await until(
    async () =>
      (await admin.query("select from pg_stat_activity where datname = 'two' and wait_event_type = 'Lock'"))
        .rowCount === 1,
    "the second installer waits",
  );
  await one.query("rollback");
  await installed;
  expect(await status(two, "waited")).toMatchObject({ status: "ok" });
});

test("a schema whose name is too long for its roles is installed without, and create_roles says why", async () => {
  const client = await connect("plain");
  const [fits, tooLong] = ["s".repeat(56), "t".repeat(57)];
  await install(client, { schema: fits });
  expect(await roles("sss")).toEqual([`${fits}_admin`, `${fits}_reader`, `${fits}_viewer`, `${fits}_writer`]);
  await install(client, { schema: tooLong });
  expect(await roles("ttt")).toEqual([]);
  expect(await status(client, tooLong)).toEqual(none);
  await expect(client.query(`select ${tooLong}.create_roles()`)).rejects.toMatchObject({
    code: "PQ004",
    message: `expected the schema's name to have at most 56 bytes, for its roles to have a name, got: '${tooLong}' (57 bytes)`,
  });
});

test("a schema of any name has roles of that name", async () => {
  const client = await connect("plain");
  const schema = `We"ird Schéma %s $$ 'x'`;
  await install(client, { schema });
  await client.query(`select "We""ird Schéma %s $$ 'x'".create_queue('q')`);
  expect(await roles(schema)).toEqual([`${schema}_admin`, `${schema}_reader`, `${schema}_viewer`, `${schema}_writer`]);
  await client.query(`set role "We""ird Schéma %s $$ 'x'_writer"`);
  await client.query(`select "We""ird Schéma %s $$ 'x'".send('q', 'x')`);
  await expect(client.query(`select * from "We""ird Schéma %s $$ 'x'".receive('q', 'c')`)).rejects.toMatchObject({
    code: "42501",
  });
});

test("uninstall keeps the roles, whatever they hold, and an install finds them again", async () => {
  const client = await connect("second");
  await client.query("create role keeper; select pgque.grant_queue('q', 'keeper', 'receive')");
  await uninstall(client);
  expect(await roles("pgque_")).toEqual(["pgque_admin", "pgque_reader", "pgque_viewer", "pgque_writer"]);
  await install(client);
  expect(await status(client)).toMatchObject({ status: "ok" });
  const { rows } = await client.query("select pg_has_role('guest', 'pgque_writer', 'member') as member");
  expect(rows).toEqual([{ member: true }]);
  // the grant of one queue is gone with the queue
  await client.query("drop role keeper");
});
