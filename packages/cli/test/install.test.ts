import { describe, expect, test } from "vitest";
import { freshDatabase, ownServer, type TestDatabase } from "../../../test/support/database.ts";
import { pgque } from "./support/pgque.ts";

const schemas = async (database: TestDatabase): Promise<string[]> => {
  const client = await database.connect();
  const { rows } = await client.query(
    `select nspname from pg_namespace where nspname !~ '^pg_|^information_schema$' order by nspname collate "C"`,
  );
  return rows.map(({ nspname }) => nspname);
};

describe("install", () => {
  test("installs, and does nothing the second time; PG* variables will do", async () => {
    await using database = await freshDatabase();
    const { hostname, port, username, password, pathname } = new URL(database.url);
    const env = {
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      PGDATABASE: pathname.slice(1),
    };
    const first = await pgque(["install", "--schema", "Warte schlange"], env);
    expect(first).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(/^Installed Pgque [\d.]+ in schema "Warte schlange"/),
    });
    const second = await pgque(["install", "--schema", "Warte schlange"], env);
    expect(second).toMatchObject({ code: 0, err: "", out: expect.stringContaining("is there already") });
    expect(await schemas(database)).toEqual(["Warte schlange", "pgque", "public"]);
  });

  test("several at once all succeed, one of them installs", async () => {
    await using database = await freshDatabase();
    const env = { DATABASE_URL: database.url };
    const runs = await Promise.all([1, 2, 3].map(() => pgque(["install", "--schema", "together"], env)));
    expect(runs.map(({ code, err }) => ({ code, err }))).toEqual(
      Array.from({ length: 3 }, () => ({ code: 0, err: "" })),
    );
    expect(runs.filter(({ out }) => out.startsWith("Installed"))).toHaveLength(1);
  });

  test("who may not create roles is told what is missing", async () => {
    await using server = await ownServer();
    const client = await server.connect();
    await client.query("create role plain login password 'secret'");
    await client.query(`grant create on database "${new URL(server.url).pathname.slice(1)}" to plain`);
    const url = new URL(server.url);
    [url.username, url.password] = ["plain", "secret"];
    const { code, out, err } = await pgque(["install", "--schema", "mine"], { DATABASE_URL: url.href });
    expect({ code, err, lines: out.split("\n").slice(1) }).toEqual({
      code: 0,
      err: "",
      lines: ["Roles: none: the schema was installed without, the owner or a superuser may call create_roles().", ""],
    });
  });

  test("another version is named, with what fixes it", async () => {
    await using database = await freshDatabase();
    const client = await database.connect();
    await client.query("update pgque.meta set version = '999.0.0'");
    const { code, err } = await pgque(["install"], { DATABASE_URL: database.url });
    expect(code).toBe(1);
    expect(err).toMatch(/999\.0\.0.*pgque/s);
  });
});

describe("uninstall", () => {
  test("without a terminal it needs --yes, and says what it would drop", async () => {
    await using database = await freshDatabase();
    const client = await database.connect();
    await client.query("select pgque.create_queue('orders')");
    const env = { DATABASE_URL: database.url };
    const asked = await pgque(["uninstall"], env);
    expect(asked).toMatchObject({ code: 2, err: expect.stringContaining('1 queue ("orders")') });
    expect(asked.err).toContain("--yes");
    expect(await schemas(database)).toContain("pgque");

    expect(await pgque(["uninstall", "--yes"], env)).toMatchObject({ code: 0, err: "" });
    expect(await schemas(database)).toEqual(["public"]);
    expect(await pgque(["uninstall", "--yes"], env)).toMatchObject({
      code: 0,
      out: expect.stringContaining("not installed"),
    });
  });
});

test("sql prints a script that does what install does", async () => {
  await using database = await freshDatabase();
  const { code, out } = await pgque(["sql", "--schema", "by_hand"]);
  expect(code).toBe(0);
  const client = await database.connect();
  await client.query(out);
  expect(await pgque(["install", "--schema", "by_hand"], { DATABASE_URL: database.url })).toMatchObject({
    code: 0,
    out: expect.stringContaining("is there already"),
  });
});
