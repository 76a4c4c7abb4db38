#!/usr/bin/env node
// Checks the shape of the source: import cycles (type imports included), crowded folders, files that are too long or too
// small, and the direction in which packages depend on each other.
//
//   node scripts/check-architecture.mjs [ROOT]
//
// ROOT/scripts/check-exceptions.json has, for each check, the known violations: a file or folder, or all below a folder when
// it ends in "/". An exception that no longer excuses anything fails as well.
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(process.argv[2] ?? path.resolve(import.meta.dirname, ".."));

const siblingsMax = 15;
const linesMax = 300;
const tinyLines = 25;

/** Folders of one file for each member of a set: their number is no sign of a missing folder, and a member may be small. */
const registries = new Set([
  "packages/cli/src/commands",
  "packages/cli/src/doctor",
  "packages/client/src/adapters",
  "bench/src/adapters",
  "bench/src/scenarios",
  "bench/src/horizons",
]);

/** The packages of the workspace, and those that each may import. */
const layers = {
  "@pgque/sql": [],
  "@pgque/postgres": [],
  "@pgque/client": ["@pgque/sql"],
  "@pgque/worker": ["@pgque/client"],
  "@pgque/dashboard": ["@pgque/client"],
  "@pgque/relay": ["@pgque/client"],
  "@pgque/bench": ["@pgque/sql", "@pgque/postgres", "@pgque/client", "@pgque/worker"],
  pgque: [
    "@pgque/sql",
    "@pgque/postgres",
    "@pgque/client",
    "@pgque/worker",
    "@pgque/bench",
    "@pgque/dashboard",
    "@pgque/relay",
  ],
};

const packages = globSync(["packages/*/package.json", "sql/package.json", "bench/package.json"], { cwd: root })
  .map(posix)
  .map((file) => ({ folder: path.posix.dirname(file), manifest: JSON.parse(readText(file)) }));
const files = new Map(
  globSync("{packages/*,sql,bench}/src/**/*.{ts,mts}", { cwd: root })
    .map(posix)
    .filter((file) => !file.endsWith(".gen.ts"))
    .map((file) => [file, readText(file)]),
);
const imports = new Map([...files].map(([file, text]) => [file, importsOf(file, text)]));

const checks = {
  cycles: {
    found: cycles,
    advice: "Move what both need, types included, into a module below them",
  },
  siblings: {
    found: crowdedFolders,
    advice: "Group its files in folders by job, or name it in `registries` of scripts/check-architecture.mjs",
  },
  long: {
    found: longFiles,
    advice: "Split it by concern",
  },
  tiny: {
    found: tinyFiles,
    advice: "Move it into its importer",
  },
  layers: {
    found: wrongDependencies,
    advice: "Turn the dependency round, or change `layers` of scripts/check-architecture.mjs",
  },
};

const exceptionsFile = "scripts/check-exceptions.json";
const exceptions = existsSync(path.join(root, exceptionsFile)) ? JSON.parse(readText(exceptionsFile)) : {};

let failures = 0;
for (const [name, { found, advice }] of Object.entries(checks)) {
  const known = new Map((exceptions[name] ?? []).map((where) => [where, 0]));
  for (const { where, message } of found()) {
    const excuse = [...known.keys()].find((one) => (one.endsWith("/") ? where.startsWith(one) : where === one));
    if (excuse === undefined) fail(`${where}: ${message}. ${advice}`);
    else known.set(excuse, known.get(excuse) + 1);
  }
  for (const [where, uses] of known) {
    if (uses === 0)
      fail(`${exceptionsFile}: expected a violation of "${name}" at ${where}, found none. Remove the exception`);
  }
}
process.exitCode = failures === 0 ? 0 : 1;

function fail(message) {
  console.error(message);
  failures++;
}

/** Every set of files that import each other, at its first file, with one way round. */
function cycles() {
  return stronglyConnected()
    .filter((members) => members.length > 1)
    .map((members) => {
      const first = members.reduce((a, b) => (a < b ? a : b));
      return {
        where: first,
        message: `expected no import cycle, found ${wayRound(first).join(" -> ")} (${members.length} files in all)`,
      };
    });
}

/** Tarjan's algorithm. */
function stronglyConnected() {
  const components = [];
  const [index, low, stack] = [new Map(), new Map(), []];
  const visit = (file) => {
    index.set(file, index.size);
    low.set(file, index.get(file));
    stack.push(file);
    for (const next of imports.get(file).files) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(file, Math.min(low.get(file), low.get(next)));
    }
    if (low.get(file) === index.get(file)) components.push(stack.splice(stack.indexOf(file)));
  };
  for (const file of files.keys()) if (!index.has(file)) visit(file);
  return components;
}

/** The shortest way from a file back to it. */
function wayRound(start) {
  const ways = [[start]];
  const seen = new Set();
  for (const way of ways) {
    for (const next of imports.get(way.at(-1)).files) {
      if (next === start) return [...way, start];
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return [];
}

function crowdedFolders() {
  const counts = new Map();
  for (const file of files.keys()) {
    const folder = path.posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > siblingsMax && !registries.has(folder))
    .map(([where, count]) => ({
      where,
      message: `expected at most ${siblingsMax} source files in a folder, found ${count}`,
    }));
}

function longFiles() {
  return [...files]
    .filter(([, text]) => linesOf(text) > linesMax)
    .map(([where, text]) => ({
      where,
      message: `expected at most ${linesMax} lines without blanks, found ${linesOf(text)}`,
    }));
}

function tinyFiles() {
  const entries = new Set(packages.flatMap(entriesOf));
  const importers = new Map();
  for (const [file, { files: imported }] of imports) {
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), file]);
  }
  return [...files].flatMap(([where, text]) => {
    const lines = linesOf(text);
    const by = importers.get(where) ?? [];
    if (lines >= tinyLines || by.length !== 1 || entries.has(where)) return [];
    if (registries.has(path.posix.dirname(where))) return [];
    return [
      { where, message: `expected ${tinyLines} lines or a second importer, found ${lines} lines and only ${by[0]}` },
    ];
  });
}

/** Source files that `exports` and `bin` of a package name. */
function entriesOf({ folder, manifest }) {
  const targets = JSON.stringify([manifest.exports, manifest.bin]).match(/\.\/dist\/[^"]+\.js/g) ?? [];
  return targets.map((target) => path.posix.join(folder, target.replace("./dist/", "src/").replace(/\.js$/, ".ts")));
}

function wrongDependencies() {
  return [...imports].flatMap(([where, { packages: imported }]) => {
    const { name } = packageOf(where).manifest;
    const allowed = layers[name] ?? [];
    return imported
      .filter((one) => one in layers && one !== name && !allowed.includes(one))
      .map((one) => ({
        where,
        message: `expected ${name} to import ${allowed.join(", ") || "no other package of ours"}, found ${one}`,
      }));
  });
}

/** What a file imports, types and dynamic imports included: files of the source, and packages. */
function importsOf(file, text) {
  const specifiers = [
    ...text.matchAll(/(?<![\w.])(?:from|import)\s*\(?\s*"([^"\n]+)"/g),
    ...text.matchAll(/new URL\(\s*"([^"\n]+)"/g),
  ].map(([, specifier]) => specifier);
  const own = specifiers
    .filter((one) => /^(\.|#src\/)/.test(one))
    .map((one) =>
      one.startsWith("#src/")
        ? path.posix.join(packageOf(file).folder, "src", `${one.slice("#src/".length)}.ts`)
        : path.posix.join(path.posix.dirname(file), one.replace(/\.(m?)js$/, ".$1ts")),
    );
  return {
    files: [...new Set(own)].filter((one) => files.has(one) && one !== file),
    packages: [...new Set(specifiers.filter((one) => !/^(\.|#)/.test(one)).map(packageName))],
  };
}

/** "@pgque/client/redact" as "@pgque/client". */
function packageName(specifier) {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function packageOf(file) {
  return packages.find(({ folder }) => file.startsWith(`${folder}/`)) ?? { folder: ".", manifest: {} };
}

function linesOf(text) {
  return text.split("\n").filter((line) => line.trim() !== "").length;
}

function readText(file) {
  return readFileSync(path.join(root, file), "utf8");
}

function posix(file) {
  return file.replaceAll(path.sep, "/");
}
