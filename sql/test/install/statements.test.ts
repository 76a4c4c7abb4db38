import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { install, packagedRelease, type Release, schemaVersion, validate } from "@pgque/sql";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { statementsOf } from "../../../scripts/statements.ts";
import { freshDatabase } from "../../../test/support/database.ts";
import { nextRelease } from "../../../test/support/next-release.ts";

const sql = path.resolve(import.meta.dirname, "../..");
const scripts = path.resolve(sql, "../scripts");
const folder = mkdtempSync(path.join(tmpdir(), "pgque-sql-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a semicolon ends a statement only where it is in no text, comment, name or body", () => {
  const one = fc.constantFrom(
    "select 1",
    "select ';' || E'\\';' || 'it''s;'",
    "select $$;$$, $a$ $$;$$ ' $a$, $1, a$b",
    'select "a;""b" /* ; /* ; */ ; */ -- ;\n , 2',
    "create function f() returns int begin atomic select case when true then 1 else 2 end; select 3; end",
    "create function f() returns int language plpgsql as $x$ begin return 1; end $x$",
    "do 'begin perform 1; end'",
    'create table atomic (begin int, "end" int)',
  );
  const between = fc.constantFrom("", "\n", " -- a comment; with a semicolon and a ' quote\n", "/* ; ' $$ */");
  fc.assert(
    fc.property(fc.array(fc.tuple(between, one)), (parts) => {
      const text = parts.map(([before, statement]) => `${before}${statement};`).join("");
      expect(statementsOf("a.sql", text).map((found) => found.sql)).toEqual(parts.map(([, statement]) => statement));
    }),
  );
});

test("the statements of the schema are all there, and those of functions are told from those of tables", () => {
  const kinds = Object.groupBy(packagedRelease.statements, ({ kind }) => kind);
  expect(kinds.right).toHaveLength(1);
  expect(
    kinds.object?.every(({ sql: text }) =>
      /^(create (table|type|domain|index|sequence)|alter table|comment on|select) /.test(text),
    ),
  ).toBe(true);
  const schema = path.join(sql, "schema");
  const declared = readdirSync(schema, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sql"))
    .flatMap((file) => readFileSync(path.join(schema, file), "utf8").match(/^create function/gm) ?? []);
  expect(kinds.routine?.filter(({ sql: text }) => text.startsWith("create function"))).toHaveLength(declared.length);
});

test("a statement of which nobody knows whether an upgrade runs it again fails the build", () => {
  expect(() => statementsOf("queue/queue.sql", "alter function version() reset all;")).toThrow(
    'expected queue/queue.sql to hold statements that create, alter a table, comment, insert, select or do, found "alter function',
  );
});

/** Runs a script of the repository on the copy. */
function node(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return status === 0 ? stdout : stderr;
}

const readCopy = (): string =>
  node(
    "--input-type=module",
    "-e",
    `import { readMigrations } from ${JSON.stringify(path.join(scripts, "release.mjs"))};
    console.log(JSON.stringify(readMigrations(${JSON.stringify(path.join(folder, "migrations"))})))`,
  );

test("the first release, as it is frozen, becomes what is installed from the schema, by the migrations since", async () => {
  cpSync(sql, folder, { recursive: true, filter: (from) => !/node_modules|dist$/.test(from) });
  expect(node(path.join(scripts, "freeze.mjs"), folder)).toContain("Frozen: ");
  const first = readdirSync(path.join(folder, "migrations")).find((file) => file.startsWith("001_")) ?? "";
  const frozen: Release = {
    ...packagedRelease,
    fingerprint: "of the first release",
    statements: statementsOf(first, readFileSync(path.join(folder, "migrations", first), "utf8")),
    migrations: [],
  };
  await using database = await freshDatabase();
  const client = await database.connect();
  for (const [schema, release] of Object.entries({
    now: { ...packagedRelease, version: nextRelease.version },
    later: nextRelease,
  })) {
    await install(client, { schema, release: frozen });
    await client.query(`select ${schema}.create_queue('q')`);
    await install(client, { schema, release: { ...release, firstVersion: schemaVersion } });
    expect(await validate(client, { schema, release })).toEqual([]);
  }
});

test("the build reads migrations by their numbers, and refuses one that was changed after its release", () => {
  const migrations = path.join(folder, "migrations");
  writeFileSync(
    path.join(migrations, "002_note.queue.sql"),
    "-- 9.0.0\nalter table message_<queue> add column note text;\n",
  );
  writeFileSync(path.join(migrations, "002_note.sql"), "-- 9.0.0\nalter table queue add column note text;\n");
  expect(JSON.parse(readCopy())).toMatchObject({
    firstVersion: schemaVersion,
    migrations: [
      { number: 2, name: "002_note", version: "9.0.0", queueSql: expect.stringContaining("<queue>"), functionsSql: "" },
    ],
  });
  expect(node(path.join(scripts, "freeze.mjs"), folder)).toContain("Frozen: 3 files");
  appendFileSync(path.join(migrations, "002_note.sql"), "select 1;\n");
  expect(readCopy()).toContain("expected sql/migrations/002_note.sql as it was released: it is frozen");
  rmSync(path.join(migrations, "SHA256SUMS"));
  writeFileSync(path.join(migrations, "004_gap.sql"), "-- 9.1.0\n");
  expect(readCopy()).toContain("expected migration 3 in sql/migrations, found 004_gap");
  writeFileSync(path.join(migrations, "4_gap.sql"), "-- 9.1.0\n");
  expect(readCopy()).toContain("expected sql/migrations/4_gap.sql to be named NNN_name.sql");
});
