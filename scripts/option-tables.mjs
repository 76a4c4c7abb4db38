#!/usr/bin/env node
// Writes the tables of options in the docs from their declarations, as they were last built.
//   node scripts/option-tables.mjs            write
//   node scripts/option-tables.mjs --check    fail when one that is checked in is stale
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { consumerOptions, queueOptions, sendOptions, sqlName } from "../packages/client/dist/options/index.js";
import { relayOptions } from "../packages/relay/dist/relay-options.js";
import { workerOptions } from "../packages/worker/dist/index.js";

/** Stands between `<!-- options: NAME -->` and `<!-- end -->`. */
const tables = {
  "a queue": { file: "docs/queues.md", text: withSql(queueOptions) },
  "a consumer": { file: "docs/queues.md", text: withSql(without(consumerOptions, "strict")) },
  "a message": { file: "docs/queues.md", text: withSql(without(sendOptions, "type")) },
  "a relay": { file: "packages/relay/README.md", text: withValues(relayOptions) },
  "a worker": { file: "packages/worker/README.md", text: withValues(workerOptions) },
};

for (const [name, { file, text }] of Object.entries(tables)) {
  const place = path.resolve(import.meta.dirname, "..", file);
  const page = readFileSync(place, "utf8");
  const [begin, end] = [`<!-- options: ${name} -->\n`, "<!-- end -->"];
  const from = page.indexOf(begin);
  if (from === -1) throw new Error(`expected ${begin.trim()} in ${file}, found none`);
  const written = page.slice(0, from) + begin + text + page.slice(page.indexOf(end, from));
  if (!process.argv.includes("--check")) writeFileSync(place, written);
  else if (written !== page) {
    console.error(`${file}: the options of ${name} are stale: run node scripts/option-tables.mjs`);
    process.exitCode = 1;
  }
}

function without(options, name) {
  return Object.fromEntries(Object.entries(options).filter(([one]) => one !== name));
}

/** What can also be given in SQL, by its name there. */
function withSql(options) {
  const rows = Object.entries(options).map(([name, option]) => {
    const { defaultInSql } = option;
    const inSql = defaultInSql === undefined ? "" : `; ${shown(name, defaultInSql)} in SQL`;
    const inHeader = option.header && `header \`${option.header}\``;
    return [inHeader ?? `\`${sqlName(name)}\``, `\`${name}\``, defaultOf(name, option) + inSql, option.help];
  });
  return tableOf(["SQL", "TypeScript", "default", ""], rows);
}

function withValues(options) {
  const rows = Object.entries(options).map(([name, option]) => [
    `\`${name}\``,
    defaultOf(name, option),
    valuesOf(name, option.check),
    option.help,
  ]);
  return tableOf(["option", "default", "values", ""], rows);
}

function defaultOf(name, option) {
  return option.absent ?? shown(name, option.default);
}

function valuesOf(name, { kind, min, max, choices }) {
  if (kind === "boolean") return "true, false";
  if (kind === "choice") return choices.map((word) => `\`${word}\``).join(", ");
  const of = name.endsWith("Ms") ? name : "";
  return min === undefined ? "" : `${shown(of, min)} to ${shown(of, max)}`;
}

/** A value with its unit, which is the end of the option's name. */
function shown(name, value) {
  if (typeof value === "string") return /^\w+$/.test(value) ? `\`${value}\`` : value;
  if (typeof value !== "number") return String(value);
  if (name.endsWith("Ms"))
    return inUnits(value, [1, "ms"], [1000, "s"], [60_000, "min"], [3_600_000, "h"], [86_400_000, "d"]);
  if (/Bytes(Max)?$/.test(name)) return inUnits(value, [1, "bytes"], [1024, "KiB"], [1024 ** 2, "MiB"]);
  return String(value);
}

/** In the largest unit of which it is a whole number. */
function inUnits(value, ...units) {
  const [size, unit] = units.findLast(([one]) => value >= one && value % one === 0) ?? units[0];
  return value === 0 ? "0" : `${value / size} ${unit}`;
}

function tableOf(head, rows) {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}
