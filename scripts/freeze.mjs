#!/usr/bin/env node
// Freezes the migrations of a release: run once when a version is released, and commit what it writes. The first time that is the schema itself
// as 001. From then on the build fails when a frozen file changes.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { digest, schemaFiles, sqlFiles, sums } from "./release.mjs";

const sql = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, "../sql"));
const folder = path.join(sql, "migrations");
const { version } = JSON.parse(readFileSync(path.join(sql, "package.json"), "utf8"));
mkdirSync(folder, { recursive: true });
const first = path.join(folder, "001_first_release.sql");
if (!existsSync(first)) {
  const schema = path.join(sql, "schema");
  const files = schemaFiles(schema).map(
    (file) => `-- ${file}\n\n${readFileSync(path.join(schema, file), "utf8").trim()}\n`,
  );
  writeFileSync(first, [`-- ${version}\n`, ...files].join("\n"));
}
const lines = sqlFiles(folder).map((file) => `${digest(readFileSync(path.join(folder, file)))}  ${file}\n`);
writeFileSync(path.join(folder, sums), lines.join(""));
console.log(`Frozen: ${lines.length} files of ${folder}, version ${version}.`);
