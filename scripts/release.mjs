// The schema and its migrations, as the module that the installer reads: from sql/schema and sql/migrations.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { statementsOf } from "./statements.ts";

/** Digests of the files that are frozen, as `sha256sum` writes them. */
export const sums = "SHA256SUMS";

/** @param {string} sql the folder */
export function releaseModule(sql) {
  const schema = path.join(sql, "schema");
  const statements = schemaFiles(schema).flatMap((file) =>
    statementsOf(file, readFileSync(path.join(schema, file), "utf8")),
  );
  const { firstVersion, migrations } = readMigrations(path.join(sql, "migrations"));
  const fingerprint = digest(JSON.stringify([statements, migrations])).slice(0, 16);
  return `// Generated from sql/schema and sql/migrations by scripts/generate.mjs. Do not edit.
import type { Migration } from "./release.ts";
import type { Statement } from "./statements.ts";

export const fingerprint = ${JSON.stringify(fingerprint)};
export const firstVersion: string | null = ${JSON.stringify(firstVersion)};
export const statements: readonly Statement[] = ${JSON.stringify(statements, null, 1)};
export const migrations: readonly Migration[] = ${JSON.stringify(migrations, null, 1)};
`;
}

/**
 * The migrations of a folder. 001 is the schema of the first release, which no database that is there needs: of it only the version counts.
 *
 * @throws Error when a file is named otherwise than sql/README.md says, or one that is frozen has changed
 */
export function readMigrations(folder) {
  checkFrozen(folder);
  const byNumber = new Map();
  for (const file of sqlFiles(folder)) {
    const [, digits, name, part = "sql"] = /^(\d{3})_([a-z0-9_]+)(?:\.(queue|functions))?\.sql$/.exec(file) ?? [];
    const text = readFileSync(path.join(folder, file), "utf8");
    const [, version] = /^-- (\d+\.\d+\.\d+)\n/.exec(text) ?? [];
    if (digits === undefined || version === undefined) {
      throw new Error(
        `expected sql/migrations/${file} to be named NNN_name.sql, NNN_name.queue.sql or NNN_name.functions.sql, and to begin with a line "-- <version>"`,
      );
    }
    const number = Number(digits);
    const one = byNumber.get(number) ?? {
      number,
      name: `${digits}_${name}`,
      version,
      queueSql: "",
      sql: "",
      functionsSql: "",
    };
    if (one.name !== `${digits}_${name}` || one.version !== version)
      throw new Error(
        `expected the files of migration ${digits} to have one name and one version, found ${one.name} for ${one.version} and ${file} for ${version}`,
      );
    one[part === "sql" ? "sql" : `${part}Sql`] = text;
    byNumber.set(number, one);
  }
  const all = [...byNumber.values()];
  const gap = all.findIndex(({ number }, i) => number !== i + 1);
  if (gap >= 0) throw new Error(`expected migration ${gap + 1} in sql/migrations, found ${all[gap].name}`);
  return { firstVersion: all[0]?.version ?? null, migrations: all.slice(1) };
}

function checkFrozen(folder) {
  const file = path.join(folder, sums);
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  for (const line of lines) {
    const [sum, name] = line.split("  ");
    const frozen = path.join(folder, name);
    if (!existsSync(frozen) || digest(readFileSync(frozen)) !== sum)
      throw new Error(
        `expected sql/migrations/${name} as it was released: it is frozen, databases have run it. Put the change into a migration of its own`,
      );
  }
}

/**
 * The files of the schema, in the order in which they are run: that of order.txt.
 *
 * @param {string} folder sql/schema
 * @returns {string[]} relative to it
 * @throws Error when the list and the folder differ
 */
export function schemaFiles(folder) {
  const listed = readFileSync(path.join(folder, "order.txt"), "utf8").trim().split("\n");
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".sql"));
  const wrong = [...found.filter((file) => !listed.includes(file)), ...listed.filter((file) => !found.includes(file))];
  if (wrong.length > 0)
    throw new Error(
      `expected sql/schema/order.txt to list the files of sql/schema, they differ by ${wrong.join(", ")}`,
    );
  return listed;
}

export function sqlFiles(folder) {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith(".sql"))
        .toSorted()
    : [];
}

export function digest(text) {
  return createHash("sha256").update(text).digest("hex");
}
