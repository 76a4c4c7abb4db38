import { install, uninstall, validate } from "@pgque/sql";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nextRelease, nextVersion } from "../../../test/support/next-release.ts";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { createIntruder, intrude } from "../../../test/support/intruder.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";

// The least that an owner of the schema can be: a login with CREATE on the database, and nothing else.

describe.each([14, 17] as const)("on PostgreSQL %i", (major) => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await ownServer({ major });
    const admin = await server.connect();
    await admin.query("create role owner login password 'secret'; create role app login password 'secret'");
    await createIntruder(server);
  });
  afterAll(() => server.drop());

  async function connectAs(database: TestDatabase, role: string): Promise<Client & AsyncDisposable> {
    const url = new URL(database.url);
    [url.username, url.password] = [role, "secret"];
    const client = new Client(url.href);
    client.on("error", () => undefined);
    await client.connect();
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
  }

  async function prepared(): Promise<TestDatabase> {
    const database = await server.fresh();
    const admin = await database.connect();
    await admin.query("drop schema pgque cascade");
    const { rows } = await admin.query("select current_database() as name");
    await admin.query(`grant create on database ${rows[0].name} to owner`);
    return database;
  }

  test("a role with CREATE on the database alone installs, upgrades, validates and uninstalls", async () => {
    await using database = await prepared();
    await using client = await connectAs(database, "owner");
    expect((await install(client)).installed).toBe(true);
    expect(await validate(client)).toEqual([]);
    await client.query(
      "select pgque.create_queue('q', '{\"partitions\": 16}'), pgque.grant_queue('q', 'app', 'send'), pgque.grant_queue('q', 'app', 'receive')",
    );
    await using app = await connectAs(database, "app");
    await app.query("select pgque.subscribe('q', 'c', '{\"mode\": \"ordered\"}')");
    const work = async (): Promise<string[]> => {
      await app.query(
        "select pgque.send('q', 't', 'now', '{\"key\": \"k\"}'), pgque.send('q', 't', 'late', '{\"key\": \"l\", \"delay\": 0.01}')",
      );
      const got: string[] = [];
      await until(async () => {
        await app.query("select pgque.maintain()");
        const { rows } = await app.query("select batch_id, payload from pgque.receive_messages('q', 'c')");
        for (const { payload } of rows) got.push(payload);
        if (rows.length > 0) await app.query("select pgque.ack($1)", [rows[0].batch_id]);
        return got.length === 2;
      }, "both are received");
      return got.toSorted();
    };
    expect(await work()).toEqual(["late", "now"]);
    expect(await install(client, { release: nextRelease })).toEqual({ installed: true, version: nextVersion });
    expect(await validate(client, { release: nextRelease })).toEqual([]);
    expect(await work()).toEqual(["late", "now"]);
    await client.query("select pgque.grow_ring(1, 3), pgque.purge('q'), pgque.status()");
    await client.query("select pgque.repair(true)");
    await uninstall(client);
    expect((await client.query("select from pg_namespace where nspname = 'pgque'")).rowCount).toBe(0);
  });

  test("who may not create in the database is refused, and nothing is left behind", async () => {
    await using database = await prepared();
    await using client = await connectAs(database, "app");
    await expect(install(client)).rejects.toMatchObject({ code: "42501" });
    expect((await client.query("select from pg_namespace where nspname = 'pgque'")).rowCount).toBe(0);
  });

  test("an owner who may not see others' sessions names who holds a lock once somebody waits for it", async () => {
    await using database = await prepared();
    await using client = await connectAs(database, "owner");
    await install(client);
    await client.query("select pgque.create_queue('q'), pgque.subscribe('q', 'c')");
    const intruder = await intrude(database);
    const { rows } = await client.query("select key from pgque.lock_purposes('owner') where purpose = 'cursor'");
    await intruder.query("select pg_advisory_lock($1::bigint)", [rows[0].key]);
    await using waiting = await connectAs(database, "owner");
    const receive = await blocked(await database.connect(), waiting, "select pgque.receive('q', 'c')");
    const held = async () => (await client.query("select * from pgque.held_locks('q', '0.1 s')")).rows;
    await until(async () => (await held()).length > 0, "it is listed");
    expect(await held()).toMatchObject([
      { purpose: "cursor", role_name: "mallory", application_name: "intruder", waiting: 1 },
    ]);
    await intruder.end();
    await receive.result;
  });
});
