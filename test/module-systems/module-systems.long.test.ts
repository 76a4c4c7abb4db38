import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../support/database.ts";

// A project of CommonJS as many services are one, with TypeScript's oldest resolution of modules, and the packages as they would be published.

const root = path.resolve(import.meta.dirname, "../..");
const project = mkdtempSync(path.join(os.tmpdir(), "pgque module systems "));

beforeAll(() => {
  cpSync(path.join(import.meta.dirname, "project"), project, { recursive: true });
  run(root, process.execPath, ["scripts/pack.mjs", path.join(project, "packages")]);
  const tarballs = readdirSync(path.join(project, "packages")).filter((file) =>
    /^pgque-(client|sql|worker)-/.test(file),
  );
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs.map((file) => `./packages/${file}`)]);
  // in a folder of its own, where no other program finds it
  run(project, "npm", ["install", "--prefix", "old", "--no-audit", "--no-fund", `node-linux-${process.arch}@20.20.2`]);
  return () => rmSync(project, { recursive: true });
}, 300_000);

const handled = '{"orderId":42}\n';

test("TypeScript compiles it for CommonJS, with types of every entry point", () => {
  expect(run(project, "npx", ["tsc"])).toBe("");
});

test("Jest tests it", async () => {
  await using database = await freshDatabase();
  expect(run(project, "npx", ["jest"], database.url)).toBe("");
});

test("ts-node runs it", async () => {
  await using database = await freshDatabase();
  expect(run(project, "npx", ["ts-node", "main.ts"], database.url)).toBe(handled);
});

test("NestJS injects it, compiled as its generator says", async () => {
  run(project, "npx", ["tsc", "--project", "tsconfig.nest.json"]);
  await using database = await freshDatabase();
  expect(run(project, process.execPath, ["dist-nest/nest.js"], database.url)).toBe(handled);
});

test("esbuild, vite and webpack bundle it", async () => {
  run(project, process.execPath, ["bundles.mjs"]);
  // where there is no node_modules
  const elsewhere = mkdtempSync(path.join(os.tmpdir(), "pgque bundles "));
  try {
    cpSync(path.join(project, "bundles"), elsewhere, { recursive: true });
    for (const bundle of ["esbuild.cjs", "vite/main.mjs", "webpack.cjs"]) {
      await using database = await freshDatabase();
      expect([bundle, run(elsewhere, process.execPath, [bundle], database.url)]).toEqual([bundle, handled]);
    }
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

test("import and require give the same classes, and errors of either are recognized", () => {
  expect(run(project, process.execPath, ["same.mjs"])).toBe("[true,true,true,true]\n");
});

describe("below the oldest Node", () => {
  const says = "needs Node.js 22.18 or newer, this is 20.20.2. Install a current one from https://nodejs.org.\n";
  const onNode20 = (args: readonly string[]) =>
    spawnSync(path.join(project, `old/node_modules/node-linux-${process.arch}/bin/node`), args, {
      cwd: project,
      encoding: "utf8",
    });

  test.each(
    ["@pgque/client", "@pgque/client/testing", "@pgque/worker"].flatMap((name) => [
      [name, "import", ["--input-type=module", "-e", `import "${name}"; console.log("loaded")`]] as const,
      [name, "require", ["-e", `require("${name}"); console.log("loaded")`]] as const,
    ]),
  )("%s says so, by %s", (_, __, args) => {
    const { status, stdout, stderr } = onNode20(args);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`\nError: Pgque ${says}`);
  });

  test("the command says so", () => {
    const { status, stdout, stderr } = onNode20([path.join(root, "packages/cli/bin/pgque.js"), "status"]);
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: "", stderr: `pgque ${says}` });
  });
});

function run(cwd: string, command: string, args: string[], url = ""): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, DATABASE_URL: url },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
