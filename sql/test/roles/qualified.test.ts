import { readFile } from "node:fs/promises";
import { sqlFiles } from "../support/sql-files.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

// Dynamic SQL names everything with its schema: see core/qualified.sql. Looked for in the sources, and in the functions that are generated.

let database: TestDatabase;
let client: pg.Client;
/** What is in the schema, the number of a queue or a segment as a hole. */
let relations: string[];
let functions: string[];
let types: string[];

beforeAll(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await client.query(`
    select pgque.create_queue('q'), pgque.create_queue('keys', '{"partitions": 16, "allow_expiry": true, "allow_cancel": true}'), pgque.create_queue('other', '{"priorities": 10}');
    select pgque.grow_ring(id, 3), pgque.grow_ring(id, 4) from pgque.queue`);
  const named = async (query: string): Promise<string[]> =>
    (await client.query(`select distinct ${query}`)).rows.map(({ name }) => name);
  const hole = String.raw`regexp_replace(%s, '_\d+(_\d+)?$', '_%%')`;
  relations = await named(
    `${hole.replace("%s", "relname").replaceAll("%%", "%")} as name from pg_class where relnamespace = 'pgque'::regnamespace and relkind in ('r', 'p', 'S')`,
  );
  functions = await named(
    `${hole.replace("%s", "proname").replaceAll("%%", "%")} as name from pg_proc where pronamespace = 'pgque'::regnamespace`,
  );
  types = await named(
    `typname as name from pg_type t join pg_class c on c.oid = t.typrelid where t.typnamespace = 'pgque'::regnamespace and c.relkind = 'c'`,
  );
});
afterAll(() => database.drop());

const anyOf = (names: string[]): string => `(?:${names.toSorted((a, b) => b.length - a.length).join("|")})`;

/** The names in a piece of SQL that have no schema. number: what stands for a number in a name. */
function unqualified(sql: string, number: string): string[] {
  const numbered = (names: string[]) => names.map((name) => name.replace("%", number));
  const free = String.raw`(?<![\w.%$}"])`;
  const rules = [
    // by its place
    String.raw`\b(?:from|join|into|only|update|table|truncate|references|sequence)\s+${anyOf(numbered(relations))}\b(?!\s*as\s+(?:materialized\s+)?\()`,
    String.raw`(?<!distinct )\b(?:from|join|into|only|update|table|truncate|references|sequence|on|type)\s+(?:%(?:\d+\$)?I|\$\{(?!only\})\w+(?::I)?\})`,
    // by its numbers alone; "receive_1.consumer" is a variable
    `${free}${anyOf(numbered(relations.filter((name) => name.endsWith("%"))))}(?![.\\d])`,
    String.raw`${free}${anyOf(numbered(functions))}\(`,
    String.raw`(?:::|setof\s+)${anyOf(types)}\b`,
  ];
  const bare = sql.replaceAll(/--.*$/gm, "");
  return rules.flatMap((rule) => [...bare.matchAll(new RegExp(rule, "gi"))].map(([found]) => found));
}

/** The strings of a source file that become SQL: what format() and EXECUTE are given, and what is quoted by dollars within a body. */
function templates(source: string): string[] {
  const code = source
    .replaceAll(/^\s*--.*$/gm, "")
    // the privileges of a role are taken from it
    .replaceAll(/(\brevoke [^']*?) from %I/g, "$1")
    .replaceAll(/\brelation\((?:format\()?'[^']*'/g, "")
    // what is said to people is not SQL
    .replaceAll(/\b(?:hint|message) = (?:format\()?E?'(?:[^']|'')*'|'[^']* queues have not rotated[^']*'/g, "");
  // whatever is quoted by a tag that has a name is a template or a part of one, but for the bodies of the functions that write them
  const tagged = [...code.matchAll(/\$(?!(?:generate|do)\$)(\w+)\$[\s\S]*?\$\1\$/g)];
  const literals = code.matchAll(/(?:\b(?:format|qualified|render)\(|\bexecute\s+|:=\s*|\|\|\s*)(E?'(?:[^']|'')*')/g);
  return [...tagged.map(([found]) => found), ...[...literals].map((match) => match[1] ?? "")];
}

/** What stands for the number of a queue or a segment in a template. */
const numberHole = String.raw`(?:%(?:\d\$)?s|\$\{\w+\})`;

test("no template of the sources names a relation, a function or a type without its schema", async () => {
  const folder = new URL("../../schema/", import.meta.url);
  const found: string[] = [];
  let read = 0;
  for (const file of await sqlFiles(folder)) {
    const source = await readFile(new URL(file, folder), "utf8");
    for (const template of templates(source)) {
      read += 1;
      for (const name of unqualified(template, String.raw`${numberHole}(?:_${numberHole})?`))
        found.push(`${file}: ${name}`);
    }
  }
  expect(found).toEqual([]);
  expect(read).toBeGreaterThan(150);
});

test("no name that is built is looked up without its schema", async () => {
  const folder = new URL("../../schema/", import.meta.url);
  for (const file of (await sqlFiles(folder)).filter((name) => name !== "core/qualified.sql")) {
    const source = (await readFile(new URL(file, folder), "utf8")).replaceAll(
      "pg_get_serial_sequence(format(qualified('{schema}.%I'), source), 'seq')::regclass",
      "",
    );
    expect(source, file).not.toMatch(/(?:\)|source|table|sequence)::reg(?:class|procedure)\b(?! and)/);
    expect(source, file).not.toMatch(/to_reg\w+\((?!format\(qualified\()/);
    expect(source, file).not.toMatch(/regclass := (?!relation\()/);
  }
});

test("the functions that are generated name nothing without its schema, and those with the owner's rights could not", async () => {
  const { rows } = await client.query(
    `select p.oid::regprocedure::text as name, p.prosrc, p.prosecdef, p.proconfig
       from pg_proc p
      where p.pronamespace = 'pgque'::regnamespace and p.prosqlbody is null
        and not coalesce('search_path=pgque, pg_temp' = any (p.proconfig), false)
      order by 1`,
  );
  expect(rows.filter(({ prosecdef }) => prosecdef)).toHaveLength(15);
  for (const { name, prosrc, prosecdef, proconfig } of rows) {
    expect(unqualified(prosrc, String.raw`\d+(?:_\d+)?`), name).toEqual([]);
    if (prosecdef) expect(proconfig, name).toContain("search_path=pg_catalog, pg_temp");
  }
});
