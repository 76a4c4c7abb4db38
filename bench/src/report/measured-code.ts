import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = new URL("../../", import.meta.url);

/** The code that a run has measured. */
export interface MeasuredCode {
  /** Of @pgque/bench, which is that of all packages. */
  version: string;
  /** Of the checkout, with "-dirty" when it has changes of its own. Null: not a checkout. */
  commit: string | null;
}

export async function measuredCode(): Promise<MeasuredCode> {
  const { version } = JSON.parse(await readFile(new URL("package.json", folder), "utf8")) as { version: string };
  return { version, commit: await commitOf().catch(() => null) };
}

/** In a project that has this package as a dependency, git knows a repository, but not this file in it. */
async function commitOf(): Promise<string> {
  await run("git", ["ls-files", "--error-unmatch", "package.json"], { cwd: folder });
  const { stdout } = await run("git", ["describe", "--always", "--dirty", "--abbrev=12"], { cwd: folder });
  return stdout.trim();
}
