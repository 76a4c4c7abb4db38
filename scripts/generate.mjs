#!/usr/bin/env node
// Writes the modules that the build needs and nobody edits: the schema and its migrations as a module, from the files in sql, and the script
// and style of the benchmark's page with the licences of what is bundled there. scripts/run.mjs calls it before the compiler. A file that has not changed is left alone.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { releaseModule } from "./release.mjs";
import { reportPage } from "./report-page.mjs";

const root = path.resolve(import.meta.dirname, "..");

const page = await reportPage(path.join(root, "bench"));
const files = [
  ["sql/src/release.gen.ts", releaseModule(path.join(root, "sql"))],
  ["bench/src/report/html/page.gen.ts", page.module],
  ["bench/THIRD-PARTY-LICENSES.txt", page.licences],
];
for (const [file, wanted] of files) {
  const target = path.join(root, file);
  if (!existsSync(target) || readFileSync(target, "utf8") !== wanted) writeFileSync(target, wanted);
}
