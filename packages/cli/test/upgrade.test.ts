import { expect, test } from "vitest";
import { schemaVersion } from "@pgque/sql";
import { freshDatabase } from "../../../test/support/database.ts";
import { pgque } from "./support/pgque.ts";

test("upgrade does nothing to a schema of this version, and does not install one", async () => {
  await using database = await freshDatabase();
  const env = { DATABASE_URL: database.url };
  expect(await pgque(["upgrade"], env)).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringContaining("is there already"),
  });
  const { code, err } = await pgque(["upgrade", "--schema", "nowhere"], env);
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/expected Pgque in schema "nowhere".*found none\. pgque install --schema "nowhere"/),
  });
});

test("a newer schema is refused with the reason, also one that would serve, and stays as it is", async () => {
  await using database = await freshDatabase();
  const env = { DATABASE_URL: database.url };
  const client = await database.connect();
  for (const newer of [schemaVersion.replace(/\d+$/, "99"), "999.0.0"]) {
    await client.query("update pgque.meta set version = $1", [newer]);
    const { code, err } = await pgque(["upgrade"], env);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`found version ${newer}: use the pgque package`),
    });
  }
  expect((await client.query("select pgque.version()")).rows).toEqual([{ version: "999.0.0" }]);
});

test("--dry-run and --show-sql do nothing; what the latter prints does all of it", async () => {
  await using database = await freshDatabase();
  const env = { DATABASE_URL: database.url };
  const dry = await pgque(["install", "--schema", "later", "--dry-run"], env);
  expect(dry).toMatchObject({
    code: 0,
    out: expect.stringContaining(`Would install Pgque ${schemaVersion} in schema "later"`),
  });
  const shown = await pgque(["install", "--schema", "later", "--show-sql"], env);
  const client = await database.connect();
  const isThere = async (): Promise<boolean> =>
    (await client.query("select from pg_namespace where nspname = 'later'")).rowCount === 1;
  expect(await isThere()).toBe(false);
  await client.query(shown.out);
  expect((await pgque(["validate", "--schema", "later"], env)).code).toBe(0);

  await client.query("select pgque.create_queue('orders')");
  const drop = await pgque(["uninstall", "--dry-run"], env);
  expect(drop).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Would drop schema "pgque".*1 queue \("orders"\)/),
  });
  expect((await pgque(["uninstall", "--show-sql"], env)).out).toBe("drop schema pgque cascade;\n");
  expect((await pgque(["upgrade", "--dry-run"], env)).out).toContain("Nothing to do");
});
