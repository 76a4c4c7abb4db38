import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { type Release, schemaVersion } from "@pgque/sql";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { nextRelease, nextVersion as last, patchRelease } from "../../../test/support/next-release.ts";
import { until } from "../../../test/support/until.ts";
import { pgque } from "./support/pgque.ts";
import { release } from "./support/release.ts";

let database: TestDatabase;
let client: pg.Client;
let env: { DATABASE_URL: string };

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
  env = { DATABASE_URL: database.url };
  await client.query("select pgque.create_queue('orders'), pgque.subscribe('orders', 'c')");
  await client.query("select pgque.send('orders', 'x')");
});
afterEach(() => database.drop());

/** The version, and what there is of the later one. */
async function installed(): Promise<{ version: string; tables: boolean; functions: boolean }> {
  const { rows } = await client.query(
    `select pgque.version(), to_regclass('pgque.trace') is not null as tables, to_regproc('pgque.traced') is not null as functions`,
  );
  return rows[0];
}

const before = { version: schemaVersion, tables: false, functions: false };
const after = { version: last, tables: true, functions: true };

/** The release with another text in a part of its migration. */
function withPart(part: Partial<Release["migrations"][number]>): Release {
  return { ...nextRelease, migrations: nextRelease.migrations.map((one) => ({ ...one, ...part })) };
}

test("an older schema is brought to the version of the command, whole, with what its queues hold", async () => {
  const later = await release(nextRelease);
  const { code, out, err } = await later.run(["upgrade"], env);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(new RegExp(`^Brought Pgque ${schemaVersion} to ${last} in schema "pgque" of `));
  expect(await installed()).toEqual(after);
  expect(await later.run(["validate"], env)).toMatchObject({ code: 0, err: "" });
  expect((await client.query("select payload from pgque.receive('orders', 'c')")).rows).toEqual([{ payload: "x" }]);
  expect((await later.run(["upgrade"], env)).out).toContain(`Pgque ${last} is there already`);
});

test("--dry-run says which way it goes and does nothing; what --show-sql prints does all of it", async () => {
  const later = await release(nextRelease);
  const dry = await later.run(["upgrade", "--dry-run"], env);
  expect(dry).toMatchObject({ code: 0, err: "" });
  expect(dry.out).toMatch(
    new RegExp(`^Would bring Pgque ${schemaVersion} to ${last} in .*, by 3 transactions\\. Nothing was done\\.\n$`),
  );
  const shown = await later.run(["upgrade", "--show-sql"], env);
  expect(shown).toMatchObject({ code: 0, err: "" });
  expect(await installed()).toEqual(before);
  await client.query(shown.out);
  expect(await installed()).toEqual(after);
  expect((await later.run(["validate"], env)).code).toBe(0);
});

test("a schema of a later release is not upgraded by this one, which says why and leaves it", async () => {
  const later = await release(nextRelease);
  await later.run(["upgrade"], env);
  const { code, out, err } = await pgque(["upgrade"], env);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(
    `to be of version ${schemaVersion} or older, found version ${last}: use the pgque package of version ${last}`,
  );
  // it serves, so that what an older application runs when it is deployed goes through
  expect(await pgque(["install"], env)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`Pgque ${last} is there already`),
  });
  expect((await installed()).version).toBe(last);
});

test("killed in the middle of an upgrade it leaves the version before in use, and the next one goes on from there", async () => {
  const later = await release(nextRelease);
  // it gets past the queues, and waits for the registry
  const reader = await database.connect();
  await reader.query("begin; select from pgque.queue");
  const upgrade = later.start(["upgrade"], env);
  await until(async () => {
    const waiting = await client.query(
      "select from pg_stat_activity where datname = current_database() and wait_event = 'relation' and pid <> pg_backend_pid()",
    );
    return waiting.rowCount === 1;
  }, "the migration waits for the reader");
  upgrade.kill("SIGKILL");
  await upgrade.ended;
  await reader.query("commit");
  expect(await installed()).toEqual(before);
  expect((await client.query("select migration from pgque.queue")).rows).toEqual([{ migration: 2 }]);
  expect((await client.query("select payload from pgque.receive('orders', 'c')")).rows).toEqual([{ payload: "x" }]);

  const dry = await later.run(["upgrade", "--dry-run"], env);
  expect(dry.out).toContain("by 2 transactions");
  expect((await later.run(["upgrade"], env)).out).toContain(`Brought Pgque ${schemaVersion} to ${last}`);
  expect(await installed()).toEqual(after);
  expect(await later.run(["validate"], env)).toMatchObject({ code: 0, err: "" });
});

test("an upgrade that fails is told with its reason, and the version before is in use", async () => {
  const later = await release(withPart({ functionsSql: "select 1 / 0;" }));
  const { code, out, err } = await later.run(["upgrade"], env);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(
    new RegExp(
      `could not bring schema "pgque" of .* from version ${schemaVersion} to ${last}: it is of version ${schemaVersion} now, whole and in use\\n.*division by zero`,
    ),
  );
  expect(await installed()).toEqual({ ...before, tables: true });
});

test("a package that was built again under its version says so, in install, upgrade, validate and doctor", async () => {
  const rebuilt = await release({ ...patchRelease, version: schemaVersion, firstVersion: null });
  for (const command of ["install", "upgrade"])
    expect(await rebuilt.run([command], env)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/expected schema pgque to be the build .* found build .*pgque uninstall/),
    });
  const { code, out } = await rebuilt.run(["validate"], env);
  expect(code).toBe(1);
  expect(out).toContain("changed  fingerprint");
  expect((await rebuilt.run(["doctor"], env)).out).toContain("is another build of version");
  expect((await pgque(["doctor"], env)).out).not.toContain("is another build of version");
});

test("two at once do each migration once, and both end well", async () => {
  const later = await release(nextRelease);
  const ends = await Promise.all([later.run(["upgrade"], env), later.run(["upgrade"], env)]);
  expect(ends.map(({ code, err }) => ({ code, err }))).toEqual([
    { code: 0, err: "" },
    { code: 0, err: "" },
  ]);
  expect(ends.some(({ out }) => out.startsWith(`Brought Pgque ${schemaVersion} to ${last}`))).toBe(true);
  expect(await installed()).toEqual(after);
  expect((await later.run(["validate"], env)).code).toBe(0);
});
