#!/usr/bin/env node
// Writes every package as the tarball that would be published: results/packages/*.tgz, or into the folder that is named.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { pnpm } from "./pnpm.mjs";

const root = path.resolve(import.meta.dirname, "..");
const target = path.resolve(process.argv[2] ?? path.join(root, "results", "packages"));
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const folder of ["sql", "bench", ...readdirSync(path.join(root, "packages")).map((name) => `packages/${name}`)])
  removeStale(path.join(root, folder));
pnpm(
  [
    "--recursive",
    "--filter",
    "./sql",
    "--filter",
    "./bench",
    "--filter",
    "./packages/*",
    "pack",
    "--pack-destination",
    target,
  ],
  {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  },
);
console.log(target);

/** The compiler leaves what it made of files that are gone or have moved. */
function removeStale(folder) {
  const dist = path.join(folder, "dist");
  for (const file of readdirSync(dist, { recursive: true })) {
    const source = file.match(/^(.*?)(\.d)?\.(js|ts)(\.map)?$/)?.[1];
    if (source !== undefined && !existsSync(path.join(folder, "src", `${source}.ts`))) rmSync(path.join(dist, file));
  }
}
