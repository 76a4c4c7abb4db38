import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type Release, schemaVersion } from "@pgque/sql";
import { type Ended, Running } from "./pgque.ts";

/** The command as a later version of Pgque would ship it. */
export interface LaterCommand {
  start: (args: string[], env: Record<string, string>) => Running;
  run: (args: string[], env: Record<string, string>) => Promise<Ended>;
}

const cli = path.resolve(import.meta.dirname, "../..");
const sql = path.resolve(fileURLToPath(import.meta.resolve("@pgque/sql")), "../..");

/** The packages as they are built, copied into a folder of their own, where the schema's is of another release. All else is what users run. */
export async function release(later: Release): Promise<LaterCommand> {
  const modules = path.join(await mkdtemp(path.join(tmpdir(), "pgque-release-")), "node_modules");
  onTestFinished(() => rm(path.dirname(modules), { recursive: true, force: true }));
  await mkdir(path.join(modules, "@pgque"), { recursive: true });
  await link(path.join(cli, "node_modules"), modules, ["@pgque", ".bin"]);
  await link(path.join(cli, "node_modules/@pgque"), path.join(modules, "@pgque"), ["sql"]);
  await copy(cli, path.join(modules, "pgque"), ["bin", "dist", "package.json"]);
  await copy(sql, path.join(modules, "@pgque/sql"), ["dist", "package.json"]);

  const dist = path.join(modules, "@pgque/sql/dist");
  const versionFile = path.join(dist, "version.js");
  const version = await readFile(versionFile, "utf8");
  await writeFile(versionFile, version.replace(`"${schemaVersion}"`, JSON.stringify(later.version)));
  const { fingerprint, firstVersion, statements, migrations } = later;
  const parts = Object.entries({ fingerprint, firstVersion, statements, migrations });
  await writeFile(
    path.join(dist, "release.gen.js"),
    parts.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`).join(""),
  );
  const start: LaterCommand["start"] = (args, env) =>
    new Running(args, env, undefined, "", path.join(modules, "pgque/bin/pgque.js"));
  return { start, run: (args, env) => start(args, env).ended };
}

async function link(from: string, to: string, except: readonly string[]): Promise<void> {
  const names = (await readdir(from)).filter((name) => !except.includes(name));
  await Promise.all(names.map((name) => symlink(path.join(from, name), path.join(to, name))));
}

async function copy(from: string, to: string, parts: readonly string[]): Promise<void> {
  await Promise.all(parts.map((part) => cp(path.join(from, part), path.join(to, part), { recursive: true })));
}
