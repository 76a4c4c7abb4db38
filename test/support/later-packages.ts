import { cp, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Release, schemaVersion } from "@pgque/sql";

const root = path.resolve(import.meta.dirname, "../..");

/** Where the packages are that are copied. */
const sources = {
  pgque: "packages/cli",
  "@pgque/client": "packages/client",
  "@pgque/worker": "packages/worker",
  "@pgque/sql": "sql",
};

/**
 * Copies the packages as they are built into a folder of their own, as a later version would ship them: the schema is of another release. All
 * else is what users run. Returns the folder, which has `node_modules` in it.
 */
export async function laterPackages(later: Release): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "pgque-release-"));
  const modules = path.join(folder, "node_modules");
  await mkdir(path.join(modules, "@pgque"), { recursive: true });
  for (const [name, source] of Object.entries(sources)) {
    const [from, to] = [path.join(root, source), path.join(modules, name)];
    for (const part of await readdir(from))
      if (["bin", "dist", "package.json"].includes(part))
        await cp(path.join(from, part), path.join(to, part), { recursive: true });
    await link(path.join(from, "node_modules"), modules);
  }

  const dist = path.join(modules, "@pgque/sql/dist");
  const versionFile = path.join(dist, "version.js");
  const version = await readFile(versionFile, "utf8");
  await writeFile(versionFile, version.replace(`"${schemaVersion}"`, JSON.stringify(later.version)));
  const { fingerprint, firstVersion, statements, migrations } = later;
  const parts = Object.entries({ fingerprint, firstVersion, statements, migrations });
  await writeFile(
    path.join(dist, "release.gen.js"),
    parts.map(([name, value]) => `exports.${name} = ${JSON.stringify(value)};\n`).join(""),
  );
  return folder;
}

/** Links what a package depends on, but for what is copied; packages that several have are the same ones. */
async function link(from: string, to: string): Promise<void> {
  const isCopied = (name: string): boolean => Object.hasOwn(sources, path.relative(path.join(to, "."), name));
  for (const name of await readdir(from).catch(() => [])) {
    if (name === ".bin" || name === "@pgque") continue;
    const target = path.join(to, name);
    if (!isCopied(target)) await symlink(path.join(from, name), target).catch(ignoreExisting);
  }
  for (const name of await readdir(path.join(from, "@pgque")).catch(() => [])) {
    const target = path.join(to, "@pgque", name);
    if (!isCopied(target)) await symlink(path.join(from, "@pgque", name), target).catch(ignoreExisting);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
