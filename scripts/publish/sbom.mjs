// The software bills of materials of the packages, in CycloneDX: what each installs in production, and what is bundled into it.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pnpm } from "../pnpm.mjs";
import { reportPage } from "../report-page.mjs";

/**
 * Writes `<package>-<version>.cdx.json` of each package into a folder.
 *
 * @param {string} root of the workspace
 * @param {string[]} filters pnpm's options that select the packages
 */
export async function writeSboms(root, filters, target) {
  // what is installed has licences, the lockfile alone has what other platforms install
  const installed = sboms(root, filters, []);
  const locked = sboms(root, filters, ["--lockfile-only"]);
  const bundled = { "@pgque/bench": (await reportPage(path.join(root, "bench"))).bundled };
  for (const [file, sbom] of locked) {
    const known = new Map(installed.get(file).components.map((one) => [one["bom-ref"], one]));
    const { group, name } = sbom.metadata.component;
    const inside = bundled[group ? `${group}/${name}` : name] ?? [];
    const components = [...sbom.components.map((one) => known.get(one["bom-ref"]) ?? one), ...inside.map(component)];
    writeFileSync(path.join(target, file), `${JSON.stringify({ ...sbom, components }, null, 2)}\n`);
  }
}

function sboms(root, filters, options) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-sbom-"));
  try {
    const output = ["--split", "--out", path.join(folder, "%s-%v.cdx.json")];
    pnpm([...filters, "sbom", "--sbom-format", "cyclonedx", "--prod", "--exclude-peers", ...options, ...output], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
    });
    return new Map(
      readdirSync(folder).map((file) => [file, JSON.parse(readFileSync(path.join(folder, file), "utf8"))]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function component({ name, version, license }) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { type: "library", name, version, purl, "bom-ref": purl, licenses: [{ license: { id: license } }] };
}
