import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { type Analysis, checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-packages-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { status, stderr } = spawnSync(process.execPath, ["scripts/pack.mjs", "--sbom", folder], {
  cwd: root,
  encoding: "utf8",
});
if (status !== 0) throw new Error(`packing failed:\n${stderr}`);
const tarballs = readdirSync(folder).filter((file) => file.endsWith(".tgz"));

const manifestOf = (tarball: string): Record<string, unknown> =>
  JSON.parse(
    spawnSync("tar", ["-xzOf", path.join(folder, tarball), "package/package.json"], { encoding: "utf8" }).stdout,
  ) as Record<string, unknown>;

test("every package is packed", () => {
  expect(tarballs.map((file) => file.replace(/-\d+\.\d+\.\d+\.tgz$/, ""))).toEqual([
    "pgque",
    "pgque-bench",
    "pgque-client",
    "pgque-dashboard",
    "pgque-postgres",
    "pgque-relay",
    "pgque-sql",
    "pgque-worker",
  ]);
});

describe.each(tarballs)("%s", (tarball) => {
  const data = readFileSync(path.join(folder, tarball));

  test("is what a publisher expects", async () => {
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(data).buffer } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("has its licence, its page, and no source map", () => {
    const files = spawnSync("tar", ["-tzf", path.join(folder, tarball)], { encoding: "utf8" }).stdout.split("\n");
    expect(files).toEqual(expect.arrayContaining(["package/LICENSE", "package/README.md"]));
    expect(files.filter((file) => file.endsWith(".map"))).toEqual([]);
  });

  test("has a bill of the materials that it installs and of those that are bundled into it", () => {
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(tarball) as Record<
      string,
      Record<string, string>
    >;
    const sbom = readFileSync(path.join(folder, tarball.replace(/tgz$/, "cdx.json")), "utf8");
    const { components } = JSON.parse(sbom) as { components: { purl: string }[] };
    const listed = components.map(({ purl }) => decodeURIComponent(purl));
    const named = Object.entries({ ...dependencies, ...optionalDependencies }).map(([name, version]) =>
      version.startsWith("npm:") ? version.replace("npm:", "pkg:npm/") : `pkg:npm/${name}@${version}`,
    );
    expect(listed).toEqual(expect.arrayContaining(named));
    if (tarball.startsWith("pgque-bench")) {
      expect(listed).toContainEqual(expect.stringMatching(/^pkg:npm\/uplot@/));
      const licences = ["-xzOf", path.join(folder, tarball), "package/THIRD-PARTY-LICENSES.txt"];
      expect(spawnSync("tar", licences, { encoding: "utf8" }).stdout).toMatch(/^uplot .*Leon Sorokin/ms);
    }
  });

  test("has types that agree with what is loaded, to each resolver that it serves", async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));
    if (!result.types) throw new Error(`expected ${tarball} to have types, found none`);
    // of the command, the benchmark and the server nobody needs CommonJS: they are ESM
    const esm = /^pgque-(\d|bench|postgres)/.test(tarball);
    const resolvers = esm ? ["node16-esm", "bundler"] : ["node10", "node16-cjs", "node16-esm", "bundler"];
    expect(problemsOf(result, resolvers)).toEqual(Object.fromEntries(resolvers.map((resolver) => [resolver, []])));
  });
});

test("every package says what release.json says, and leaves out what is not known yet", () => {
  const details = JSON.parse(readFileSync(path.join(root, "release.json"), "utf8")) as Record<string, string> & {
    packages: Record<string, string>;
  };
  const { repository, homepage, bugs, keywords } = details;
  const manifests = tarballs.map(manifestOf);
  expect(manifests.map(({ name }) => String(name)).toSorted()).toEqual(Object.keys(details.packages).toSorted());
  for (const manifest of manifests) {
    const directory = details.packages[String(manifest["name"])];
    expect(manifest).toMatchObject({ keywords });
    expect(manifest["homepage"]).toEqual(homepage || undefined);
    expect(manifest["bugs"]).toEqual(bugs ? { url: bugs } : undefined);
    expect(manifest["repository"]).toEqual(repository ? { type: "git", url: repository, directory } : undefined);
  }
});

const entryPoints = ["packages/client", "packages/worker", "packages/dashboard", "packages/relay", "sql"].flatMap(
  (of) => {
    const { name, exports } = JSON.parse(readFileSync(path.join(root, of, "package.json"), "utf8"));
    return Object.keys(exports).map((entry) => path.posix.join(name, entry));
  },
);

test.each(entryPoints)("import and require of %s give the same", async (name) => {
  const imported = await import(name);
  const required = createRequire(import.meta.url)(name);
  expect(Object.keys(required)).not.toEqual([]);
  for (const [key, value] of Object.entries(required)) expect(imported[key], key).toBe(value);
});

/** What each of the resolvers would say of a package; a problem of no resolver in particular is everybody's. */
function problemsOf(result: Analysis, resolvers: readonly string[]): Record<string, Problem[]> {
  return Object.fromEntries(
    resolvers.map((resolver) => [
      resolver,
      result.problems.filter((one) => !("resolutionKind" in one) || one.resolutionKind === resolver),
    ]),
  );
}
