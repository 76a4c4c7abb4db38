import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { published, version } from "./version.ts";

// Packages that a service need not install: the benchmark and a PostgreSQL are six times as large as all the rest.

/** A command needs a package that is not installed, or not in the version of the command. */
export class NotInstalled extends Error {
  override readonly name = "NotInstalled";

  constructor(command: string, name: string, why: string, install: string) {
    super(`\`${command}\` needs the package ${name}, ${why}. Install it beside pgque${install}`);
  }
}

/**
 * The benchmark: the one that is installed, else the one that npm has or fetches.
 *
 * @throws NotInstalled
 */
export function loadBench(): Promise<typeof import("@pgque/bench")> {
  return load("@pgque/bench", "pgque bench");
}

/**
 * The servers for development: those that are installed, else those that npm has or fetches.
 *
 * @throws NotInstalled
 */
export function loadPostgres(): Promise<typeof import("@pgque/postgres")> {
  return load("@pgque/postgres", "pgque dev");
}

/**
 * The dashboard: the one that is installed, else the one that npm has or fetches.
 *
 * @throws NotInstalled
 */
export function loadDashboard(): Promise<typeof import("@pgque/dashboard")> {
  return load("@pgque/dashboard", "pgque dashboard");
}

/**
 * The relay: the one that is installed, else the one that npm has or fetches.
 *
 * @throws NotInstalled
 */
export function loadRelay(): Promise<typeof import("@pgque/relay")> {
  return load("@pgque/relay", "pgque relay");
}

/** @throws NotInstalled */
export async function loadPromClient(): Promise<typeof import("prom-client")> {
  return import("prom-client").catch((error: unknown) => {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const isMissing =
      code === "ERR_MODULE_NOT_FOUND" && String(message).startsWith("Cannot find package 'prom-client'");
    const install = ": npm install prom-client@15";
    throw isMissing ? new NotInstalled("pgque worker --metrics-port", "prom-client", notThere, install) : error;
  });
}

const notThere = "which is not installed";

/** Packages of Pgque that were asked for: none is looked up or fetched twice. */
const loaded = new Map<string, Promise<unknown>>();

function load<Module>(name: string, command: string): Promise<Module> {
  const module = loaded.get(name) ?? locate(name, command).then((file) => import(pathToFileURL(file).href));
  loaded.set(name, module);
  return module as Promise<Module>;
}

/** The file to import of a package in this very version. The one beside this command is preferred to that of the working directory. */
async function locate(name: string, command: string): Promise<string> {
  const copies = [import.meta.dirname, process.cwd()].flatMap((folder) => copyFrom(folder, name) ?? []);
  const fitting = copies.find((copy) => copy.version === version);
  if (fitting !== undefined) return fitting.file;
  const install = `, in the same version: npm install --save-dev ${name}@${version}`;
  const [other] = copies;
  if (other !== undefined) {
    const why = `and the one in ${other.folder} has version ${other.version}, not ${version}`;
    throw new NotInstalled(command, name, why, install);
  }
  if (!published) throw new NotInstalled(command, name, notThere, `${install}, or its tarball`);
  process.stderr.write(
    `${name} is not installed: npm fetches ${version} into its cache. To keep it: npm install --save-dev ${name}@${version}\n`,
  );
  const failure = (why: string): NotInstalled => new NotInstalled(command, name, `${notThere}, and ${why}`, install);
  const fetched = (await foldersOfNpm(name, failure)).map((folder) => copyFrom(folder, name));
  const file = fetched.find((copy) => copy?.version === version)?.file;
  if (file === undefined) throw failure(`npm has put version ${version} into no folder of its PATH`);
  return file;
}

interface Copy {
  /** Its main file. */
  file: string;
  folder: string;
  version: string;
}

/** The package that modules in a folder import by its name. */
function copyFrom(folder: string, name: string): Copy | undefined {
  let file: string;
  try {
    file = createRequire(path.join(folder, "package.json")).resolve(name);
  } catch {
    return undefined;
  }
  for (let home = path.dirname(file); home !== path.dirname(home); home = path.dirname(home)) {
    const manifest = path.join(home, "package.json");
    if (!existsSync(manifest)) continue;
    const found = JSON.parse(readFileSync(manifest, "utf8")) as { name?: string; version: string };
    if (found.name === name) return { file, folder: home, version: found.version };
  }
  return undefined;
}

/** Makes npm fetch a package, unless its cache has it, and returns the folders whose programs it would run. npm's settings are the user's. */
async function foldersOfNpm(name: string, failure: (why: string) => NotInstalled): Promise<string[]> {
  // whoever runs this by `npx --call` has that setting in the environment, where it would contradict the arguments
  const { npm_config_call: _call, ...env } = process.env;
  const args = [
    "exec",
    "--yes",
    "--loglevel=error",
    `--package=${name}@${version}`,
    "--",
    "node",
    "-p",
    "process.env.PATH",
  ];
  // npm is a batch file there
  const shell = process.platform === "win32";
  const npm = spawn("npm", args, { env, shell, stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = (await Promise.all([text(npm.stdout), once(npm, "close")]).catch((error: unknown) => {
    throw failure(`npm, which would fetch it, cannot be run: ${(error as Error).message}`);
  })) as [string, [number | null]];
  if (code !== 0) throw failure(`npm could not fetch it, for the reason above`);
  const programs = output.trim().split(path.delimiter);
  return programs.filter((folder) => path.basename(folder) === ".bin").map((folder) => path.resolve(folder, "../.."));
}
