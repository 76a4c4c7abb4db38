#!/usr/bin/env node
// Writes every package as the tarball that would be published: results/packages/*.tgz, or into the folder that is named.
// What release.json says is put into each package.json. With --sbom each tarball has its software bill of materials beside it. With
// --published they say of themselves that they can be had from a registry.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { pnpm } from "./pnpm.mjs";
import { readDetails } from "./publish/details.mjs";
import { writeSboms } from "./publish/sbom.mjs";

const root = path.resolve(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  options: { sbom: { type: "boolean" }, published: { type: "boolean" } },
  allowPositionals: true,
});
const target = path.resolve(positionals[0] ?? path.join(root, "results", "packages"));
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const folders = Object.values(readDetails(root).packages);
for (const folder of folders) removeStale(path.join(root, folder));
const filters = folders.flatMap((folder) => ["--filter", `./${folder}`]);
pnpm(["--recursive", ...filters, "pack", "--pack-destination", target], {
  cwd: root,
  env: {
    ...process.env,
    PNPM_CONFIG_PNPMFILE: "scripts/publish/pnpmfile.mjs",
    PGQUE_PACK_PUBLISHED: String(values.published ?? false),
  },
  stdio: ["ignore", "ignore", "inherit"],
});
if (values.sbom) await writeSboms(root, filters, target);
console.log(target);

/** The compiler leaves what it made of files that are gone or have moved. */
function removeStale(folder) {
  const dist = path.join(folder, "dist");
  for (const file of readdirSync(dist, { recursive: true })) {
    const source = file.match(/^(.*?)(\.d)?\.(js|ts)(\.map)?$/)?.[1];
    if (source !== undefined && !existsSync(path.join(folder, "src", `${source}.ts`))) rmSync(path.join(dist, file));
  }
}
