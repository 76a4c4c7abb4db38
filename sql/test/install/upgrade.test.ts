import { install, installedVersion, packagedRelease, plan, type Release, schemaVersion, validate } from "@pgque/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { drain, makeQueue, send } from "../support/queue.ts";
import { makeStates } from "./states.ts";
import { changed, nextRelease, nextVersion, patchRelease, patchVersion } from "../../../test/support/next-release.ts";

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

/** Everything there is, as a release installs it. */
const differences = (release: Release, schema = "pgque"): Promise<unknown> => validate(client, { release, schema });

async function makeQueues(): Promise<void> {
  await makeQueue(client);
  await client.query(`select pgque.create_queue('urgent', '{"priorities": 3}')`);
  await client.query(
    `select pgque.create_queue('by key', '{"partitions": 4, "allow_expiry": true, "allow_cancel": true}')`,
  );
  await client.query("select pgque.grow_ring(1, 3), pgque.drop_queue('urgent')");
}

test("migrations leave what a first install makes", async () => {
  await makeQueues();
  expect(await install(client, { release: nextRelease })).toEqual({ installed: true, version: nextVersion });
  expect(await differences(nextRelease)).toEqual([]);
  // of queues and segments that come later too
  await client.query("select pgque.create_queue('later'), pgque.grow_ring(1, 4)");
  expect(await differences(nextRelease)).toEqual([]);
  await install(client, { schema: "fresh", release: nextRelease });
  expect(await differences(nextRelease, "fresh")).toEqual([]);
  expect(await install(client, { release: nextRelease })).toEqual({ installed: false, version: nextVersion });
});

test("a patch replaces functions and nothing else, and a version with migrations follows it", async () => {
  await makeQueues();
  await send(client, "a");
  const files =
    "select array_agg(oid || ' ' || relfilenode order by oid) as files from pg_class where relnamespace = 'pgque'::regnamespace";
  const before = (await client.query(files)).rows;
  expect(await install(client, { release: patchRelease })).toEqual({ installed: true, version: patchVersion });
  expect((await client.query(files)).rows).toEqual(before);
  expect(await differences(patchRelease)).toEqual([]);
  await install(client, { release: nextRelease });
  expect(await differences(nextRelease)).toEqual([]);
  expect(await drain(client)).toEqual(["a"]);
});

test("functions and views that a version has no more are dropped, those of others in the schema stay", async () => {
  const view = {
    file: "core/view.sql",
    kind: "routine",
    sql: "create view glance as select q.name, backoff(1) from queue q",
  } as const;
  const gone = {
    file: "core/gone.sql",
    kind: "routine",
    sql: "create function gone(of caller) returns int language sql return 1",
  } as const;
  const older = changed(packagedRelease, schemaVersion, [], [view, gone]);
  await install(client, { schema: "other", release: older });
  await client.query("create function other.mine() returns int language sql return 1");
  await client.query("create view other.my_view as select 1 as one");
  const isThere = async (): Promise<unknown[]> => {
    const { rows } = await client.query(
      `select array[to_regclass('other.glance')::text, to_regproc('other.gone')::text, to_regproc('other.mine')::text,
              to_regclass('other.my_view')::text] as found`,
    );
    return rows[0].found;
  };
  expect(await isThere()).toEqual(["other.glance", "other.gone", "other.mine", "other.my_view"]);
  await install(client, { schema: "other", release: patchRelease });
  expect(await isThere()).toEqual([null, null, "other.mine", "other.my_view"]);
});

test("messages in every state go on where they were, for connections that were open before", async () => {
  const goOn = await makeStates(database);
  await install(client, { release: nextRelease });
  await goOn();
});

test("what is printed for a DBA does all of an upgrade", async () => {
  await makeQueues();
  await client.query("select pgque.create_queue('more')");
  const { steps } = await plan(client, { release: nextRelease });
  expect(steps.map(({ what }) => what)).toEqual([
    ...[1, 3, 4].map((queue) => `002_trace, queue ${queue}`),
    "002_trace",
    `functions ${nextVersion}`,
  ]);
  expect(await installedVersion(client)).toBe(schemaVersion);
  for (const { sql } of steps) await client.query(sql);
  await client.query("reset search_path");
  expect(await differences(nextRelease)).toEqual([]);
});

test("another build of the version is noticed, and what to do is said", async () => {
  const rebuilt: Release = { ...packagedRelease, fingerprint: "another" };
  await expect(install(client, { release: rebuilt })).rejects.toThrow(
    new RegExp(
      `the build another of version ${schemaVersion}, found build ${packagedRelease.fingerprint} .* is not released.*pgque uninstall`,
    ),
  );
  await expect(install(client, { release: { ...rebuilt, firstVersion: schemaVersion } })).rejects.toThrow(
    "from the registry",
  );
  expect(await differences(rebuilt)).toEqual([
    { name: "fingerprint", kind: "changed", queue: null, expected: "another", found: packagedRelease.fingerprint },
  ]);
  // one that could not tell
  await client.query("drop function pgque.fingerprint");
  await expect(install(client)).rejects.toThrow("found build without a fingerprint");
});
