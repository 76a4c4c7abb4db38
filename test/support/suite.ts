import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";

const root = path.resolve(import.meta.dirname, "../..");

/**
 * Runs tests of the fast tier in a process of their own, with other settings in the environment.
 *
 * @param folders of tests
 * @returns the exit code, and what was printed unless that is 0. What failed, or needed its second try, is printed as well: CI looks for such lines.
 */
export async function runSuite(
  folders: string[],
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const suite = spawn("vitest", ["run", "--project", "fast", "--maxWorkers=2", ...folders], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors, [code]] = await Promise.all([text(suite.stdout), text(suite.stderr), once(suite, "exit")]);
  const printed = stripVTControlCharacters(output + errors);
  const named = printed.split("\n").filter((line) => /^(FLAKY | *FAIL |.*Unhandled )/.test(line));
  for (const line of named) process.stdout.write(`${line}\n`);
  return { code: code as number, output: code === 0 ? "" : printed };
}
