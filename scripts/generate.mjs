#!/usr/bin/env node
// Writes the modules that the build needs and nobody edits: the schema as a module, from the files in sql/schema, and the script and
// style of the benchmark's page. scripts/run.mjs calls it before the compiler. A file that has not changed is left alone.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { reportPageModule } from "./report-page.mjs";

const root = path.resolve(import.meta.dirname, "..");
const schema = path.join(root, "sql", "schema");

const sources = readdirSync(schema)
  .filter((file) => file.endsWith(".sql"))
  .toSorted()
  .map((file) => `-- schema/${file}\n\n${readFileSync(path.join(schema, file), "utf8").trim()}\n`);
const module = `// Generated from sql/schema by scripts/generate.mjs. Do not edit.
export const initialSchema: string = ${JSON.stringify(sources.join("\n"))};
`;

const files = [
  ["sql/src/initial-schema.gen.ts", module],
  ["bench/src/report/html/page.gen.ts", await reportPageModule(path.join(root, "bench"))],
];
for (const [file, wanted] of files) {
  const target = path.join(root, file);
  if (!existsSync(target) || readFileSync(target, "utf8") !== wanted) writeFileSync(target, wanted);
}
