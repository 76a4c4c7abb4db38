import { install, installedVersion, type Release, schemaVersion } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { nextRelease, nextVersion } from "../../../test/support/next-release.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { drain, makeQueue, send } from "../support/queue.ts";

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
  const migration = install(migrator, { release: nextRelease });
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

  expect((await client.query("select pgque.traced(1), pgque.version()")).rows).toEqual([
    { traced: "by the new version", version: nextVersion },
  ]);
  expect(await drain(client)).toHaveLength(load.sent + 1);
});

test("of twenty installers at once one migrates, and the others say that it was there", async () => {
  const clients = await Promise.all(Array.from({ length: 20 }, () => database.connect()));
  const results = await Promise.all(clients.map((one) => install(one, { release: nextRelease })));
  expect(results.map(({ version }) => version)).toEqual(results.map(() => nextVersion));
  expect(results.filter(({ installed }) => installed)).toHaveLength(1);
});

test("a database without the schema goes all the way", async () => {
  expect(await install(client, { schema: "other", release: nextRelease })).toEqual({
    installed: true,
    version: nextVersion,
  });
  expect((await client.query("select other.create_queue('q'), other.traced(1)")).rows[0].traced).toBe(
    "by the new version",
  );
});

test("a migration that fails half-way leaves the version before, which works, and the next install goes on from there", async () => {
  await makeQueue(client);
  await client.query("select pgque.create_queue('another')");
  const failing = (part: Partial<Release["migrations"][number]>): Release => ({
    ...nextRelease,
    migrations: nextRelease.migrations.map((one) => ({ ...one, ...part })),
  });
  const further = "create table half (); select 1 / 0;";
  for (const part of [
    { queueSql: "select 1 / (2 - <queue>);" },
    { queueSql: "", sql: further },
    { queueSql: "", functionsSql: further },
  ]) {
    await expect(install(client, { release: failing(part) })).rejects.toThrow("division by zero");
    expect(await installedVersion(client)).toBe(schemaVersion);
    expect((await client.query("select to_regclass('pgque.half') as half")).rows).toEqual([{ half: null }]);
    await send(client, "a");
    expect(await drain(client)).toEqual(["a"]);
  }
  await client.query("update pgque.queue set migration = 1");
  expect(await install(client, { release: nextRelease })).toEqual({ installed: true, version: nextVersion });
});

test("whoever holds the locks for too long is waited for no longer, and nothing has changed", async () => {
  await makeQueue(client);
  const open = await database.connect();
  await open.query("begin");
  await open.query("select pgque.send('q', 'open')");
  await expect(install(client, { release: nextRelease, giveUpAfterMs: 300 })).rejects.toMatchObject({
    message: expect.stringContaining("within 300 ms, found them held by other transactions"),
    cause: { code: "55P03" },
  });
  expect(await installedVersion(client)).toBe(schemaVersion);
  await open.query("rollback");
  expect((await install(client, { release: nextRelease })).installed).toBe(true);
});

test("an older installer leaves a later schema that serves it alone, and refuses one that does not", async () => {
  await install(client, { release: nextRelease });
  expect(await install(client)).toEqual({ installed: false, version: nextVersion });
  await client.query("update pgque.meta set version = '99.0.0'");
  await expect(install(client)).rejects.toThrow("found version 99.0.0");
  await client.query("update pgque.meta set version = '0.0.9'");
  await expect(install(client)).rejects.toThrow("found version 0.0.9: use the pgque package of version 0.0.9");
});

/** Whether a session waits for a lock on a table. */
async function isWaiting(pid: number): Promise<boolean> {
  const { rows } = await client.query("select wait_event from pg_stat_activity where pid = $1", [pid]);
  return rows[0]?.wait_event === "relation";
}
