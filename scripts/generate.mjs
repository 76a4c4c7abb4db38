#!/usr/bin/env node
// Writes what is generated: from the files in sql/schema the migration that a database runs and the module that ships it, from the
// benchmark's page the module that ships its script and style.
//   node scripts/generate.mjs            write
//   node scripts/generate.mjs --check    fail when what is checked in is stale
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { reportPageModule } from "./report-page.mjs";

const root = path.resolve(import.meta.dirname, "..");
const schema = path.join(root, "sql", "schema");

const sources = readdirSync(schema)
  .filter((file) => file.endsWith(".sql"))
  .toSorted()
  .map((file) => `-- schema/${file}\n\n${readFileSync(path.join(schema, file), "utf8").trim()}\n`);
const migration = `-- Generated from schema/ by scripts/generate.mjs. Until 1.0 there is one migration, and it is rewritten.\n\n${sources.join("\n")}`;
const module = `// Generated from sql/schema by scripts/generate.mjs. Do not edit.
export const initialSchema: string = ${JSON.stringify(migration)};
`;

const files = [
  ["sql/migrations/001_initial.sql", migration],
  ["sql/src/initial-schema.gen.ts", module],
  ["bench/src/report/html/page.gen.ts", await reportPageModule(path.join(root, "bench"))],
];
const check = process.argv.includes("--check");
for (const [file, wanted] of files) {
  const target = path.join(root, file);
  if (!check) {
    writeFileSync(target, wanted);
  } else if (!existsSync(target) || readFileSync(target, "utf8") !== wanted) {
    console.error(`${file} is stale: run node scripts/generate.mjs`);
    process.exitCode = 1;
  }
}
