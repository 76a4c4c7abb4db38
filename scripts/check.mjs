#!/usr/bin/env node
// Everything that can be said of the tree without running it: format, lint (with types), the shape of the source, the words of public
// names, the prose of the documents, and that made files are up to date. Types were checked by the build that scripts/run.mjs has just done.
import { spawnSync } from "node:child_process";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const checks = [
  { name: "format", command: "oxfmt", args: ["--check", "."] },
  { name: "lint", command: "oxlint", args: ["--type-aware", "--deny-warnings"] },
  { name: "architecture", command: "node", args: ["scripts/check-architecture.mjs"] },
  { name: "words", command: "node", args: ["scripts/check-words.mjs"] },
  { name: "prose", command: "node", args: ["scripts/check-prose.mjs"] },
  { name: "tables of the benchmarks", command: "node", args: ["scripts/benchmarks-table.mjs", "--check"] },
  { name: "chart of the README", command: "node", args: ["scripts/readme-chart.mjs", "--check"] },
  { name: "tables of options", command: "node", args: ["scripts/option-tables.mjs", "--check"] },
  { name: "page of the command line", command: "node", args: ["scripts/cli-page.mjs", "--check"] },
];

let failed = 0;
for (const { name, command, args } of checks) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  console.log(`${status === 0 ? "ok" : "FAILED"}  ${name}`);
  if (status !== 0) failed++;
}
process.exit(failed === 0 ? 0 : 1);
