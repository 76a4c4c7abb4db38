import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { install } from "@pgque/sql";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

// What is put into a template is put in as it is, once: see core/render.sql.

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterAll(() => database.drop());

async function render(template: string, holes: Record<string, unknown> = {}, schema = "pgque"): Promise<string> {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const { rows } = await client.query(`select ${quoted}.render($1, $2) as sql`, [template, JSON.stringify(holes)]);
  return rows[0].sql;
}

const piece = fc.oneof(
  fc.constantFrom(
    "${a}",
    "${b:L}",
    "${",
    "}",
    "{schema}",
    "'{schema}.",
    "$$",
    "$body$",
    "$1",
    "'",
    '"',
    "\\",
    "%s",
    "%",
    "\n",
    " ",
    "--",
    "/*",
    ";",
  ),
  fc.string({ unit: "grapheme", maxLength: 4 }),
);
/** Texts that look like everything that means something to a template or to SQL. */
const hostile = fc
  .array(piece, { maxLength: 12 })
  .map((pieces) => pieces.join("").replaceAll("\0", "0"))
  .filter((text) => text.isWellFormed());

test("a hole takes an expression, a quoted name or a literal", async () => {
  expect(await render("select ${value} as ${name:I}, ${text:L}", { value: 1 + 1, name: "a b", text: "it's" })).toBe(
    `select 2 as "a b", 'it''s'`,
  );
});

test("any value reads back as a literal and as a name, and stays what it is as SQL", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (a, b) => {
      const name = Buffer.from(`n${b}`).subarray(0, 60).toString().replaceAll("\uFFFD", "");
      const { rows } = await client.query(await render("select ${a:L} as ${name:I}, ${b:L} as b", { a, b, name }));
      expect(rows).toEqual([{ [name]: a, b }]);
      expect(await render("(${a}, ${b}) ${a}", { a, b })).toBe(`(${a}, ${b}) ${a}`);
    }),
    { numRuns: 200 },
  );
});

test("the schema is put in as well, whatever its name is, and looks for no holes either", async () => {
  for (const schema of ["{schema}", "${a}", "'{schema}.", 'it\'s "a" \\ %s']) {
    await install(client, { schema });
    const sql = await render(
      "select ${a:L} as a, '{schema}.message_${b}' as name, {schema}.version() as version",
      { a: "{schema}", b: 7 },
      schema,
    );
    const { rows } = await client.query(sql);
    expect(rows[0]).toMatchObject({ a: "{schema}", name: `"${schema.replaceAll('"', '""')}".message_7` });
  }
});

test("a hole without a value, a value without a hole, and a hole of another kind are errors", async () => {
  await expect(render("${one} ${other}", { one: 1, third: 3 })).rejects.toThrow(
    "expected a value for the hole ${other}, found values for {one,third}",
  );
  await expect(render("${one:L}", { one: null })).rejects.toThrow("expected a value for the hole ${one:L}");
  await expect(render("${one}", { one: 1, two: 2, three: 3 })).rejects.toThrow(
    "expected a hole for each value, found none for {two,three}",
  );
  await expect(render("${one:X}", { one: 1 })).rejects.toThrow(
    "expected a hole to be a name, alone or with :I or :L, got: ${one:X}",
  );
});

test("the layout of a template and of the fragments in it is kept", async () => {
  const template = `
    begin
      \${first}
      \${none}
      if \${condition} then
        \${second}
      end if;
    end
  `;
  const holes = { first: "a;\nb;", none: "", condition: "x\n or y", second: "c(\n  1\n);" };
  expect(await render(template, holes)).toBe(
    ["begin", "  a;", "  b;", "  if x", " or y then", "    c(", "      1", "    );", "  end if;", "end"].join("\n"),
  );
});
