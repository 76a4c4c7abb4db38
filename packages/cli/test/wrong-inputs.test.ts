import path from "node:path";
import { type Argument, type Command, CommanderError, type Option } from "commander";
import { afterAll, expect, test } from "vitest";
import { program, scenarioFlags } from "#src/main";
import { explain, UsageError } from "#src/output/failure";
import { freshDatabase } from "../../../test/support/database.ts";

// Every command with wrong inputs, and what it says. The files of wrong-inputs/ have all of it, to be read; `vitest run -u` writes them anew.

const database = await freshDatabase();
afterAll(() => database.drop());
const declared = await scenarioFlags();

interface Leaf {
  name: string;
  arguments: readonly Argument[];
  options: readonly Option[];
}

const leaves = (of: Command, name = ""): Leaf[] =>
  of.commands.length === 0
    ? [{ name, arguments: of.registeredArguments, options: of.options }]
    : [
        // a scenario of bench may be left out
        ...(name === " bench" ? [{ name, arguments: [], options: of.options }] : []),
        ...of.commands
          .filter((below) => below.name() !== "help")
          .flatMap((below) => leaves(below, `${name} ${below.name()}`)),
      ];
const commands = leaves(program(declared)).map((leaf) => ({ ...leaf, name: leaf.name.trim() }));

/** Those that would go on: of them the inputs alone are looked at. */
const lasting = /^(bench|dev|worker|guard|top|tail|doctor|uninstall|sql|completion)\b/;

/** Something of the right form for what a command needs. */
const fitting: Record<string, string> = { payload: "{}", cron: "* * * * *", id: "1", to: "earliest" };

/** Something of the wrong form for the value of an option; undefined where any text will do. */
function wrongFor({ flags, argChoices }: Option): string | undefined {
  if (argChoices !== undefined) return "nonsense";
  const [, what = ""] = /<([^>]*)>/.exec(flags) ?? [];
  const wrong: Record<string, string> = {
    duration: "soon",
    when: "soon",
    where: "soon",
    time: "soon",
    ids: "x",
    "on|off": "maybe",
  };
  if (["n", "bytes", "seconds", "times", "messages", "messages/s", "numbers", "majors", "port"].includes(what))
    return "many";
  return wrong[what];
}

/** What a command takes beside what it must have, so that nothing else is wrong. */
const sensible: Record<string, string[]> = {
  send: ["{}"],
  "dlq redrive": ["--all"],
  "dlq purge": ["--all"],
  "message cancel": ["1"],
  "queue set": ["--max-retries", "1"],
  "consumer set": ["--max-in-flight", "1"],
  relay: ["--to", "redis://127.0.0.1:1"],
};

const needed = (leaf: Leaf): string[] => [
  ...leaf.arguments.filter(({ required }) => required).map((argument) => fitting[argument.name()] ?? "nowhere"),
  ...leaf.options
    .filter(({ mandatory }) => mandatory)
    .flatMap((option) => [String(option.long), fitting[option.attributeName()] ?? "nowhere"]),
  ...(leaf.options.some(({ long }) => long === "--yes") ? ["--yes"] : []),
];

interface Answer {
  code: number;
  said: string;
}

/** Runs a command in this process to its failure. */
async function failureOf(args: string[]): Promise<Answer> {
  const pgque = program(declared);
  const silence = (of: Command): void => {
    of.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    of.commands.forEach(silence);
  };
  silence(pgque);
  const print = process.stdout.write.bind(process.stdout);
  let printed = "";
  process.stdout.write = (text: string, ...rest: unknown[]) => {
    printed += text;
    const done = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  };
  try {
    await pgque.parseAsync(args, { from: "user" });
    // status answers that nothing is there
    if (process.exitCode === 1) return { code: 1, said: printed.trimEnd() };
  } catch (error) {
    if (error instanceof CommanderError) return { code: 2, said: error.message };
    return { code: error instanceof UsageError ? 2 : 1, said: `error: ${explain(error)}` };
  } finally {
    process.stdout.write = print;
    process.exitCode = undefined;
  }
  throw new Error(`expected pgque ${args.join(" ")} to fail`);
}

const quoted = (args: string[]): string => args.map((one) => (/[ {*]/.test(one) ? `'${one}'` : one)).join(" ");

const write = (name: string, rows: { args: string[]; said: string }[]): Promise<void> => {
  const text = rows.map(({ args, said }) => `$ pgque ${quoted(args)}\n${said}\n`).join("\n");
  expect(text).not.toMatch(/^ +at |s3cret/m);
  return expect(
    text.replaceAll(/127\.0\.0\.1:\d{2,}|localhost:\d{2,}/g, "HOST:PORT").replaceAll(/"\w*_\w{6,}"/g, "DATABASE"),
  ).toMatchFileSnapshot(path.join(import.meta.dirname, "wrong-inputs", `${name}.txt`));
};

test("every command says what is wrong with its arguments and options", async () => {
  const rows = [];
  for (const leaf of commands) {
    const name = leaf.name.split(" ");
    const given = [...name, ...needed(leaf)];
    const optional = leaf.arguments.filter(({ required, variadic }) => !required && !variadic).map(() => "1");
    for (const args of [
      ...(leaf.arguments.some(({ required }) => required) ? [name] : []),
      [...given, "--nope"],
      ...(leaf.arguments.some(({ variadic }) => variadic) ? [] : [[...given, ...optional, "too-many"]]),
      ...leaf.options.flatMap((option) => {
        const wrong = wrongFor(option);
        return wrong === undefined ? [] : [[...given, String(option.long), wrong]];
      }),
    ]) {
      const answer = await failureOf([...args]);
      expect({ args, ...answer }).toMatchObject({ args, code: 2 });
      rows.push({ args, ...answer });
    }
  }
  expect(commands.length).toBeGreaterThan(40);
  await write("usage", rows);
});

const admin = await database.connect();
await admin.query("drop role if exists wrong_inputs; create role wrong_inputs login password 's3cret'");
const stranger = new URL(database.url);
[stranger.username, stranger.password] = ["wrong_inputs", "s3cret"];

test.each([
  ["not-installed", ["--schema", "elsewhere"], database.url],
  ["unreachable", [], "postgres://ada:s3cret@127.0.0.1:1/shop"],
  ["no-connection-string", [], "ada:s3cret@localhost/shop"],
  ["no-right", [], stranger.href],
])("what every command says: %s", async (name, also, url) => {
  const rows = [];
  for (const leaf of commands.filter(
    (of) => !lasting.test(of.name) && of.options.some(({ long }) => long === "--schema"),
  )) {
    if (name === "not-installed" && /^(install|upgrade)/.test(leaf.name)) continue;
    const args = [...leaf.name.split(" "), ...needed(leaf), ...(sensible[leaf.name] ?? []), ...also];
    const answer = await failureOf([...args, "--database-url", url]);
    expect({ args, ...answer }).toMatchObject({ args, code: name === "no-connection-string" ? 2 : 1 });
    rows.push({ args, ...answer });
  }
  expect(rows.length).toBeGreaterThan(20);
  await write(name, rows);
});

test("what every command says of a queue that there is not", async () => {
  const rows = [];
  for (const leaf of commands.filter((of) => !lasting.test(of.name) && of.arguments[0]?.name() === "queue")) {
    if (leaf.name === "queue create") continue;
    const args = [
      ...leaf.name.split(" "),
      ...needed(leaf),
      ...(leaf.arguments[0]?.required ? [] : ["nowhere"]),
      ...(sensible[leaf.name] ?? []),
    ];
    const answer = await failureOf([...args, "--database-url", database.url]);
    rows.push({ args, ...answer });
  }
  expect(rows.length).toBeGreaterThan(15);
  await write("unknown-queue", rows);
});
