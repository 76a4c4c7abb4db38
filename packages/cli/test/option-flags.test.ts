import { boolean, callable, integer, oneOf, text } from "@pgque/client/options";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { program } from "#src/main";
import { OptionFlags } from "#src/option-flags";
import { pgque } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

const table = {
  maxTries: { check: integer(1, 10), default: 3, help: "how often" },
  waitMs: { check: integer(0, 60_000), default: 30_000, help: "how long" },
  partSize: { check: integer(1, 10), absent: "no limit", help: "how many" },
  mode: { check: oneOf("fast", "slow"), default: "fast", help: "how" },
  isLoud: { check: boolean, default: false, help: "whether" },
  title: { check: text, absent: "none", help: "its name" },
  handler: { check: callable(), absent: "none", help: "a function has no flag" },
};

/** A command with these flags, that neither writes nor exits. */
function command(flags: OptionFlags<typeof table>, options: Parameters<typeof flags.options>[0] = {}): Command {
  const made = new Command("try").exitOverride().configureOutput({ writeErr: () => undefined });
  for (const option of flags.options(options)) made.addOption(option);
  return made;
}

describe("the flags of a table of options", () => {
  const flags = new OptionFlags(table);
  const parse = (args: string[], options?: Parameters<typeof flags.options>[0]): object =>
    command(flags, options).parse(args, { from: "user" }).opts();

  test("have its names, kinds, helps and defaults", () => {
    const help = command(flags).helpInformation();
    expect(help.split("\n").filter((line) => line.startsWith("  --"))).toEqual([
      expect.stringMatching(/--max-tries <n> +how often \(default: 3\)/),
      expect.stringMatching(/--wait <duration> +how long \(default: 30s\)/),
      expect.stringMatching(/--part-size <n> +how many \(default: no limit\)/),
      expect.stringMatching(/--mode <mode> +how \(default: fast\) \(choices: "fast", "slow"\)/),
      expect.stringMatching(/--is-loud <on\|off> +whether \(default: off\)/),
      expect.stringMatching(/--title <title> +its name \(default: none\)/),
    ]);
  });

  test("read values of the options' types, those that were given alone", () => {
    const given = flags.given(parse(["--max-tries", "5", "--wait", "1m", "--is-loud", "on", "--title", "default"]));
    expect(given).toEqual({ maxTries: 5, waitMs: 60_000, isLoud: true, title: "default" });
  });

  test("take a setting back by a word, in a command that changes it", () => {
    const changing = { changing: true };
    expect(flags.changes(parse(["--max-tries", "default", "--part-size", "none", "--mode", "slow"], changing))).toEqual(
      {
        maxTries: null,
        partSize: null,
        mode: "slow",
      },
    );
  });

  test("check values where the command does", () => {
    expect(() => parse(["--max-tries", "11"], { env: true })).toThrow("Expected an integer from 1 to 10, got: 11.");
    expect(() => parse(["--wait", "2m"], { env: true })).toThrow("Expected from 0ms to 1m, got: 2m.");
  });

  test("may differ, or be none", () => {
    const own = new OptionFlags(table, { maxTries: { flag: "--tries <count>", default: 1 }, mode: null });
    const help = command(own).helpInformation();
    expect(help).toMatch(/--tries <count> +how often \(default: 1\)/);
    expect(help).not.toContain("--mode");
    expect(own.given(command(own).parse(["--tries", "2"], { from: "user" }).opts())).toEqual({ maxTries: 2 });
  });

  test("show values by their names", () => {
    expect(flags.show({ maxTries: 3, waitMs: 90_000, partSize: null, mode: "slow", isLoud: true, title: "x" })).toEqual(
      {
        "max-tries": "3",
        wait: "90s",
        "part-size": "-",
        mode: "slow",
        "is-loud": "on",
        title: "x",
      },
    );
  });
});

test.each([
  ["a flag", ["--lease", "10ms"], {}, ""],
  ["the environment", [], { PGQUE_LEASE: "10ms" }, ""],
  ["the configuration", [], {}, 'export default { lease: "10ms", listen: false };'],
])("an option of tasks comes from %s, and is checked there", async (_, args, env, config) => {
  const folder = await TaskFolder.create({
    "orders.js": "export default () => {};",
    "pgque.config.mjs": config || "export default {};",
  });
  const { code, err } = await pgque(["worker", folder.path, "--config", `${folder.path}/pgque.config.mjs`, ...args], {
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    ...env,
  });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("Expected from 1s to 7d, got: 10ms") });
});

test("a letter means one option in all commands", () => {
  const all = (of: Command): Command[] => [of, ...of.commands.flatMap(all)];
  const options = all(program({})).flatMap((of) => of.options);
  const meanings = new Map<string, Set<string>>();
  for (const { short, long } of options) {
    if (short) meanings.set(short, new Set([...(meanings.get(short) ?? []), String(long)]));
  }
  expect(Object.fromEntries([...meanings].map(([letter, longs]) => [letter, [...longs]]))).toEqual({
    "-V": ["--version"],
    "-c": ["--concurrency"],
    "-d": ["--database-url"],
    "-f": ["--follow"],
    "-j": ["--json"],
    "-n": ["--lines"],
    "-q": ["--queue"],
  });
  const longs = new Set([...meanings.values()].flatMap((set) => [...set]));
  expect(options.filter(({ short, long }) => !short && longs.has(String(long)))).toEqual([]);
});
