import { install, installedVersion, migrations, type Migration, schemaVersion } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { drain, makeQueue, send } from "../support/queue.ts";

const [major, minor, patch] = schemaVersion.split(".").map(Number);
const nextVersion = `${major}.${minor}.${Number(patch) + 1}`;

/** Changes a table that senders insert into, and every function that is generated. */
const toNext: Migration[] = [
  ...migrations,
  {
    version: nextVersion,
    sql: `
      do $$ declare q int; begin for q in select id from queue loop execute format('alter table message_%s add column note text', q); end loop; end $$;
      create function noted() returns text language sql return 'noted';
      select generate_functions(id) from queue;
      select generate_dispatchers();`,
  },
];

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

test("under load, a migration makes no send fail and none wait for long, also while a sender is in its way", async () => {
  await makeQueue(client);
  const open = await database.connect();
  await open.query("begin");
  await open.query("select pgque.send('q', 'open')");

  const load = { isOn: true, sent: 0 };
  const senders = Array.from({ length: 8 }, async () => {
    const sender = await database.connect();
    while (load.isOn) {
      await sender.query("select pgque.send('q', 'x')");
      load.sent += 1;
    }
  });
  const migrator = await database.connect();
  const pid = await backendPid(migrator);
  const migration = install(migrator, { migrations: toNext });
  for (let attempt = 0; attempt < 2; attempt++) {
    await until(() => isWaiting(pid), "it waits for the open sender");
    await until(async () => !(await isWaiting(pid)), "it has given up for now");
    const sentBefore = load.sent;
    await until(() => load.sent > sentBefore + 8, "the others send on");
  }
  await open.query("commit");
  expect(await migration).toEqual({ installed: true, version: nextVersion });
  const sentBefore = load.sent;
  await until(() => load.sent > sentBefore + 100, "they send in the new version");
  load.isOn = false;
  await Promise.all(senders);

  expect((await client.query("select pgque.noted(), pgque.version()")).rows).toEqual([
    { noted: "noted", version: nextVersion },
  ]);
  expect(await drain(client)).toHaveLength(load.sent + 1);
});

test("of twenty installers at once one migrates, and the others say that it was there", async () => {
  const clients = await Promise.all(Array.from({ length: 20 }, () => database.connect()));
  const results = await Promise.all(clients.map((one) => install(one, { migrations: toNext })));
  expect(results.map(({ version }) => version)).toEqual(results.map(() => nextVersion));
  expect(results.filter(({ installed }) => installed)).toHaveLength(1);
});

test("a database without the schema goes all the way", async () => {
  expect(await install(client, { schema: "other", migrations: toNext })).toEqual({
    installed: true,
    version: nextVersion,
  });
  expect((await client.query("select other.create_queue('q'), other.noted()")).rows[0].noted).toBe("noted");
});

test("a migration that fails half-way leaves the version before, which works", async () => {
  const further = { version: `${major}.${minor}.${Number(patch) + 2}`, sql: "create table half (); select 1 / 0;" };
  await expect(install(client, { migrations: [...toNext, further] })).rejects.toThrow("division by zero");
  expect(await installedVersion(client)).toBe(nextVersion);
  expect((await client.query("select to_regclass('pgque.half') as half")).rows).toEqual([{ half: null }]);
  await makeQueue(client);
  await send(client, "a");
  expect(await drain(client)).toEqual(["a"]);
});

test("whoever holds the locks for too long is waited for no longer, and nothing has changed", async () => {
  await makeQueue(client);
  const open = await database.connect();
  await open.query("begin");
  await open.query("select pgque.send('q', 'open')");
  await expect(install(client, { migrations: toNext, giveUpAfterMs: 300 })).rejects.toMatchObject({
    message: expect.stringContaining("within 300 ms, found them held by other transactions"),
    cause: { code: "55P03" },
  });
  expect(await installedVersion(client)).toBe(schemaVersion);
  await open.query("rollback");
  expect((await install(client, { migrations: toNext })).installed).toBe(true);
});

test("an older installer leaves a later schema that serves it alone, and refuses one that does not", async () => {
  await install(client, { migrations: toNext });
  expect(await install(client)).toEqual({ installed: false, version: nextVersion });
  await client.query("update pgque.meta set version = $1", [`${major}.${Number(minor) + 1}.0`]);
  await expect(install(client)).rejects.toThrow(`found version ${major}.${Number(minor) + 1}.0`);
  await client.query("update pgque.meta set version = '0.0.9'");
  await expect(install(client)).rejects.toThrow("found version 0.0.9: use the pgque package of version 0.0.9");
});

/** Whether a session waits for a lock on a table. */
async function isWaiting(pid: number): Promise<boolean> {
  const { rows } = await client.query("select wait_event from pg_stat_activity where pid = $1", [pid]);
  return rows[0]?.wait_event === "relation";
}
