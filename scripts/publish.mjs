#!/usr/bin/env node
// Publishes all packages in the version of this commit's tag, in the order in which they need each other, to the registry that npm is
// configured with. It goes on where an earlier run has stopped: what is there already, byte for byte, is left alone.
//
//   node scripts/publish.mjs --dry-run    says what would be published, and what stands in the way
//   node scripts/publish.mjs
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { isPrerelease, problemsOf } from "./publish/checks.mjs";
import { readDetails } from "./publish/details.mjs";
import { publish, publishedIntegrity, registryUrl, withoutProvenance } from "./publish/registry.mjs";

const root = path.resolve(import.meta.dirname, "..");
const { values } = parseArgs({ options: { "dry-run": { type: "boolean" } } });
const dryRun = values["dry-run"] ?? false;

try {
  await main();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}

async function main() {
  const problems = problemsOf(root);
  for (const problem of problems) console.error(`refused: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
  if (problems.length > 0 && !dryRun) return;

  const folder = path.join(root, "results/release");
  run([path.join(root, "scripts/run.mjs")]);
  run([path.join(root, "scripts/pack.mjs"), "--published", "--sbom", folder]);
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const names = Object.keys(readDetails(root).packages);
  const registry = registryUrl(names);
  const reason = await withoutProvenance(registry);
  const tag = isPrerelease(version) ? "next" : "latest";
  console.log(`${dryRun ? "would publish" : "publishing"} ${version} as "${tag}" to ${registry}`);
  console.log(reason === undefined ? "with provenance" : `without provenance: ${reason}`);

  // all of them are looked up first: nothing is published beside a version that is another
  const packages = names.map((name) => lookUp(name, version, folder));
  for (const { name, tarball, integrity, isThere } of packages) {
    const state = isThere ? "is there already" : dryRun ? "would be published" : "is published now";
    console.log(`${name}@${version} ${state}: ${path.relative(root, tarball)} ${integrity}`);
    if (!isThere && !dryRun) publish(tarball, { tag, provenance: reason === undefined });
  }
}

function lookUp(name, version, folder) {
  const tarball = path.join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  const integrity = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
  const published = publishedIntegrity(name, version);
  if (published !== undefined && published !== integrity)
    throw new Error(
      `expected ${name}@${version} in the registry to be this one, ${integrity}, found ${published}. Publish another version`,
    );
  return { name, tarball, integrity, isThere: published !== undefined };
}

function run(args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${path.basename(args[0])} failed, and printed why`);
}
