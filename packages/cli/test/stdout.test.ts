import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { freshCli } from "./support/cli.ts";
import { bin, environment } from "./support/pgque.ts";

const { client, database } = await freshCli();
beforeAll(async () => {
  await client.ensure("q");
  await client.sendMany(
    "q",
    Array.from({ length: 1000 }, () => "x".repeat(1000)),
  );
});

/** Runs the command with its standard output into a file, or into what takes nothing. */
async function into(stdout: number | "pipe", ...args: string[]): Promise<{ code: number; err: string }> {
  const child = spawn(process.execPath, [bin, ...args], {
    env: environment({ DATABASE_URL: database.url }),
    stdio: ["ignore", stdout, "pipe"],
  });
  child.stdout?.destroy();
  const [err, [code]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, "close")]);
  return { code, err };
}

const commands = [["sql"], ["queue", "list"], ["queue", "list", "--json"], ["peek", "q"], ["tail", "q"], ["--help"]];

test.each(commands)("a disk that is full is a failure, and is said: %s %s", async (...args) => {
  expect(await into(openSync("/dev/full", "w"), ...args.filter(Boolean))).toEqual({
    code: 1,
    err: expect.stringMatching(/^error: could not write all to standard output: .*ENOSPC.*\n$/),
  });
});

test.each([...commands, ["tail", "-f", "q"], ["top", "--json"]])(
  "a reader that is gone is told nothing: %s %s",
  async (...args) => {
    const { code, err } = await into("pipe", ...args.filter(Boolean));
    expect({ code, err }).toEqual({ code: expect.toBeOneOf([0, 1]), err: "" });
  },
);
