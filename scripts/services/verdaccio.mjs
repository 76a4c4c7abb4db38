import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const version = "6.10.4";
const cache = "/var/cache/pgque-services";

/** The program of a private npm registry. It is too large for the workspace: it is installed once, and kept for the next run. */
export function verdaccio() {
  const folder = path.join(cache, `verdaccio-${version}`);
  const program = path.join(folder, "node_modules/verdaccio/bin/verdaccio");
  if (existsSync(program)) return program;
  console.error(`installing verdaccio ${version} …`);
  const work = `${folder}.${process.pid}`;
  try {
    mkdirSync(work, { recursive: true });
    // a dependency asks for the tag `cjs` of node-fetch, which not every registry has; this is a version of that kind
    const manifest = { private: true, dependencies: { verdaccio: version }, overrides: { "node-fetch": "2.7.0" } };
    writeFileSync(path.join(work, "package.json"), JSON.stringify(manifest));
    const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    const { status } = spawnSync("npm", args, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new Error(`npm could not install verdaccio ${version}`);
    // under its name only when it is whole
    renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return program;
}
