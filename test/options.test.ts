import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { Pgque, defineQueue } from "@pgque/client";
import * as client from "@pgque/client/options";
import { workerOptions } from "@pgque/worker";
import { describe, expect, test } from "vitest";
import { freshDatabase } from "./support/database.ts";

const root = path.resolve(import.meta.dirname, "..");
const tables: Record<string, client.OptionTable> = {
  ...Object.fromEntries(Object.entries(client).filter((entry): entry is never => entry[0].endsWith("Options"))),
  workerOptions,
};
const options = Object.entries(tables).flatMap(([table, declared]) =>
  Object.entries(declared).map(([name, option]) => ({ table, name, option })),
);

/** The docstring of each option where it is declared, as one line. */
const docstrings = new Map(
  globSync("packages/{client,worker}/src/**/*.ts", { cwd: root }).flatMap((file) => {
    const source = readFileSync(path.join(root, file), "utf8");
    return [...source.matchAll(/^(?:export )?const (\w+Options) = \{$(.*?)^\} satisfies/gms)].flatMap(
      ([, table, body = ""]) =>
        [...body.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[^])*)\*\/\n {2}(\w+): /gm)].map(
          ([, doc = "", name]) => [`${table}.${name}`, doc.replaceAll(/\s+\*?\s*/g, " ").trim()] as const,
        ),
    );
  }),
);

describe("an option", () => {
  test.for(options)("$table: $name has a default that its check lets pass, or words for none", ({ name, option }) => {
    expect(option.default ?? option.absent).toBeDefined();
    if (option.default !== undefined) expect(option.check(name, option.default)).toBeUndefined();
  });

  test.for(options.filter(({ table, name }) => docstrings.has(`${table}.${name}`)))(
    "$table: $name says its range and its default in its docstring",
    ({ table, name, option }) => {
      const said = docstrings.get(`${table}.${name}`);
      const { min, max = Number.MAX_SAFE_INTEGER } = option.check;
      if (name !== "signal") expect(said).toContain("Default");
      if (["number", "boolean", "string"].includes(typeof option.default))
        expect(said).toMatch(new RegExp(`Default[^:]*: \`?"?${String(option.default)}\\b`));
      if (min === undefined) return;
      const isOpen = max >= 2_147_483_647 && !said?.includes(` to ${max}`);
      expect(said).toMatch(isOpen ? new RegExp(`At least ${min}\\b`) : new RegExp(`(to|at most) ${max}\\b`));
    },
  );

  test("of a queue has the default that is declared for it", async () => {
    await using database = await freshDatabase();
    const pgque = new Pgque(database.pool());
    const { queueOptions } = client;
    await pgque.ensure(defineQueue("plain"));
    await pgque.pool.query("select pgque.create_queue('sql')");
    const [ensured, made] = [await pgque.queues.settings("plain"), await pgque.queues.settings("sql")];
    for (const [name, option] of Object.entries<client.Option>(queueOptions)) {
      const inSql = option.defaultInSql ?? option.default ?? null;
      expect([name, Reflect.get(ensured, name)]).toEqual([name, option.default ?? null]);
      expect([name, Reflect.get(made, name)]).toEqual([name, inSql]);
    }
  });

  test("is found in the source of every table that is exported", () => {
    const declared = options.filter(({ table, name }) => docstrings.has(`${table}.${name}`));
    expect(new Set(declared.map(({ table }) => table)).size).toBe(Object.keys(tables).length);
  });
});
