#!/usr/bin/env node
// Checks that public names are made of words that the reader knows: each word of a SQL function, an option, a worker event, a
// command and a flag is a term of the field, listed in scripts/words.txt, or is explained in docs/glossary.md.
//
//   node scripts/check-words.mjs [ROOT]
//
// A word of the list that no name uses any more fails as well, and so does a name among the exceptions of
// scripts/check-exceptions.json whose words are known. Needs the built command line and worker.
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const root = path.resolve(process.argv[2] ?? path.resolve(import.meta.dirname, ".."));
const wordsFile = "scripts/words.txt";
const exceptionsFile = "scripts/check-exceptions.json";

const listed = readText(wordsFile).split("\n").filter(Boolean);
const explained = new Set(
  [...readText("docs/glossary.md").matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, terms]) => wordsOf(terms).map(stem)),
);
const known = new Set([...explained, ...listed.map(stem)]);
const names = [...sqlFunctions(), ...(await options()), ...(await workerEvents()), ...(await commandsAndFlags())];
const used = new Set(names.flatMap(({ name }) => wordsOf(name).map(stem)));

const problems = [];
if (listed.join() !== [...new Set(listed)].sort().join()) {
  problems.push(
    `${wordsFile}: expected each word once, in the order of sort, found others. Run LC_ALL=C sort -u on it`,
  );
}
const exceptions = new Set(JSON.parse(readText(exceptionsFile)).words);
const needed = new Set();
for (const { name, where } of names) {
  for (const word of wordsOf(name)) {
    if (known.has(stem(word))) continue;
    if (exceptions.has(name)) {
      needed.add(name);
      continue;
    }
    known.add(stem(word));
    problems.push(
      `${where}: expected ${name} to be made of known words, found "${word}". ` +
        `Use a term of the field; else add it to ${wordsFile} if every engineer knows it, or explain it in docs/glossary.md`,
    );
  }
}
for (const name of exceptions) {
  if (!needed.has(name)) {
    problems.push(`${exceptionsFile}: expected an unknown word in ${name}, found none. Remove the exception`);
  }
}
for (const word of listed) {
  if (!used.has(stem(word))) problems.push(`${wordsFile}: no name has the word "${word}". Remove it`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function sqlFunctions() {
  return globSync("sql/schema/**/*.sql", { cwd: root }).flatMap((where) =>
    [...readText(where).matchAll(/^create (?:or replace )?(?:function|procedure) (\w+)/gm)].map(([, name]) => ({
      name,
      where,
    })),
  );
}

/** Of every table of options that the client and the worker export. */
async function options() {
  const modules = [
    await importBuilt("packages/client/dist/options/index.js"),
    await importBuilt("packages/worker/dist/options.js"),
  ];
  return modules
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith("Options"))
    .flatMap(([where, table]) => Object.keys(table).map((name) => ({ name, where })));
}

async function workerEvents() {
  const { workerEventNames } = await importBuilt("packages/worker/dist/events/worker-events.js");
  return Object.keys(workerEventNames).map((name) => ({ name, where: "worker event" }));
}

async function commandsAndFlags() {
  const { program, scenarioFlags } = await importBuilt("packages/cli/dist/main.js");
  return namesOf(program(await scenarioFlags()), []);
}

function namesOf(command, path) {
  const words = [...path, command.name()];
  const where = words.join(" ");
  return [
    { name: command.name(), where },
    ...command.options.map(({ long }) => ({ name: long, where })),
    ...command.commands.flatMap((below) => namesOf(below, words)),
  ];
}

/** "max_lagAction" as "max", "lag", "action". */
function wordsOf(name) {
  return (
    name
      .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z]+/g) ?? []
  );
}

/** "retries" and "retry", "locked" and "locks" are one word. */
function stem(word) {
  return word.replace(/ies$/, "y").replace(/(?:ing|ed|es|s|e)$/, "");
}

function importBuilt(file) {
  return import(pathToFileURL(path.join(root, file)).href);
}

function readText(file) {
  return readFileSync(path.join(root, file), "utf8");
}
