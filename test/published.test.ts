import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-packages-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { status, stderr } = spawnSync(process.execPath, ["scripts/pack.mjs", folder], { cwd: root, encoding: "utf8" });
if (status !== 0) throw new Error(`packing failed:\n${stderr}`);
const tarballs = readdirSync(folder);

test("every package is packed", () => {
  expect(tarballs.map((file) => file.replace(/-\d+\.\d+\.\d+\.tgz$/, ""))).toEqual([
    "pgque",
    "pgque-bench",
    "pgque-client",
    "pgque-postgres",
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

  test("has types that agree with what is imported", async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));
    // the command has no types: nothing imports it
    if (!result.types) return expect(tarball).toMatch(/^pgque-\d/);
    // ESM only: TypeScript's oldest resolution and CommonJS without require(esm) are not served
    const served = result.problems.filter(
      (problem) => !("resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind)),
    );
    expect(served).toEqual([]);
  });
});

test("CommonJS can require it", () => {
  const require = createRequire(import.meta.url);
  expect(require("@pgque/client").defineQueue("q").name).toBe("q");
});
