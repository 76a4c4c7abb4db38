import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { type Migration, schemaVersion } from "@pgque/sql";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pgque } from "./support/pgque.ts";
import { release } from "./support/release.ts";

const [major, minor, patch] = schemaVersion.split(".").map(Number);
const [next, last] = [1, 2].map((n) => `${major}.${minor}.${Number(patch) + n}`) as [string, string];

/** Two versions to come: each makes a function, changes a table of the registry, and what is generated for queues. */
const migrations: Migration[] = [next, last].map((version, i) => ({
  version,
  sql: `
    create function noted_${i}() returns text language sql return 'noted';
    revoke all on function noted_${i}() from public;
    alter table queue add column note_${i} text;
    select generate_functions(id) from queue;
    select generate_dispatchers();`,
}));

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

/** The version, and which functions of later ones are there. */
async function installed(): Promise<{ version: string; noted: string[] }> {
  const { rows } = await client.query(
    "select pgque.version(), array(select proname::text from pg_proc where proname like 'noted%' order by 1) as noted",
  );
  return rows[0];
}

test("an older schema is brought to the version of the command, whole, with what its queues hold", async () => {
  const later = await release(migrations);
  const { code, out, err } = await later.run(["upgrade"], env);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(new RegExp(`^Brought Pgque ${schemaVersion} to ${last} in schema "pgque" of `));
  expect(await installed()).toEqual({ version: last, noted: ["noted_0", "noted_1"] });
  expect(await later.run(["validate"], env)).toMatchObject({ code: 0, err: "" });
  expect((await client.query("select payload from pgque.receive('orders', 'c')")).rows).toEqual([{ payload: "x" }]);
  expect((await later.run(["upgrade"], env)).out).toContain(`Pgque ${last} is there already`);
});

test("--dry-run says which way it goes and does nothing; what --show-sql prints does all of it", async () => {
  const later = await release(migrations);
  const dry = await later.run(["upgrade", "--dry-run"], env);
  expect(dry).toMatchObject({ code: 0, err: "" });
  expect(dry.out).toMatch(
    new RegExp(`^Would bring Pgque ${schemaVersion} to ${last} in .*, by 2 migrations\\. Nothing was done\\.\n$`),
  );
  const shown = await later.run(["upgrade", "--show-sql"], env);
  expect(shown).toMatchObject({ code: 0, err: "" });
  expect(await installed()).toEqual({ version: schemaVersion, noted: [] });
  await client.query(shown.out);
  expect(await installed()).toEqual({ version: last, noted: ["noted_0", "noted_1"] });
  expect((await later.run(["validate"], env)).code).toBe(0);
});

test("a schema of a later release is not upgraded by this one, which says why and leaves it", async () => {
  const later = await release(migrations);
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

test("killed in the middle of a migration it leaves the version before whole, and the next one goes on from there", async () => {
  const later = await release(migrations);
  // it gets past the first migration, and has made the function of the second when it waits for the table
  const reader = await database.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  expect(await (await release(migrations.slice(0, 1))).run(["upgrade"], env)).toMatchObject({ code: 0 });
  await reader.query("begin; select from pgque.queue");
  const upgrade = later.start(["upgrade"], env);
  await until(async () => {
    const waiting = await client.query(
      "select from pg_stat_activity where datname = current_database() and wait_event = 'relation' and pid <> $1",
      [rows[0].pid],
    );
    return waiting.rowCount === 1;
  }, "the migration waits for the reader");
  upgrade.kill("SIGKILL");
  await upgrade.ended;
  await reader.query("commit");
  expect(await installed()).toEqual({ version: next, noted: ["noted_0"] });
  expect((await client.query("select payload from pgque.receive('orders', 'c')")).rows).toEqual([{ payload: "x" }]);

  expect((await later.run(["upgrade"], env)).out).toContain(`Brought Pgque ${next} to ${last}`);
  expect(await installed()).toEqual({ version: last, noted: ["noted_0", "noted_1"] });
});

test("a migration that fails is told with its reason, and the ones before it have been applied", async () => {
  const failing = {
    version: last,
    sql: "create function noted_1() returns text language sql return 'x'; select 1 / 0;",
  };
  const later = await release([migrations[0] as Migration, failing]);
  const { code, out, err } = await later.run(["upgrade"], env);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(
    new RegExp(
      `could not bring schema "pgque" of .* from version ${schemaVersion} to ${last}: it is of version ${next} now, whole and in use\\n.*division by zero`,
    ),
  );
  expect(await installed()).toEqual({ version: next, noted: ["noted_0"] });
});

test("two at once do each migration once, and both end well", async () => {
  const later = await release(migrations);
  const ends = await Promise.all([later.run(["upgrade"], env), later.run(["upgrade"], env)]);
  expect(ends.map(({ code, err }) => ({ code, err }))).toEqual([
    { code: 0, err: "" },
    { code: 0, err: "" },
  ]);
  expect(ends.some(({ out }) => out.startsWith(`Brought Pgque ${schemaVersion} to ${last}`))).toBe(true);
  expect(await installed()).toEqual({ version: last, noted: ["noted_0", "noted_1"] });
  expect((await later.run(["validate"], env)).code).toBe(0);
});
