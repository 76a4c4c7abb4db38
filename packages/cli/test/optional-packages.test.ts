import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { type Ended, Running } from "./support/pgque.ts";

const root = path.resolve(import.meta.dirname, "../../..");
const cli = path.join(root, "packages/cli");
const { version } = JSON.parse(readFileSync(path.join(cli, "package.json"), "utf8")) as { version: string };
const folder = mkdtempSync(path.join(os.tmpdir(), "pgque optional "));
afterAll(() => rmSync(folder, { recursive: true }));

/** The command as a service has it: without the packages that are optional, of a version that registries have or not. */
const commands = { published: install("published"), unpublished: install("unpublished") };
let project: string;
beforeEach(() => {
  project = mkdtempSync(path.join(folder, "project "));
});

test.each([
  ["@pgque/bench", "bench", ["bench", "--quick"]],
  ["@pgque/postgres", "dev", ["dev"]],
  ["@pgque/dashboard", "dashboard", ["dashboard", "--database-url", "postgres://127.0.0.1/x"]],
  ["@pgque/relay", "relay", ["relay", "q", "--name", "r", "--to", "redis://x"]],
])("without %s an unpublished version says what installs it, and asks no registry", async (name, command, args) => {
  expect(await pgque("unpublished", args)).toEqual({
    code: 1,
    out: "",
    err:
      `error: \`pgque ${command}\` needs the package ${name}, which is not installed. ` +
      `Install it beside pgque, in the same version: npm install --save-dev ${name}@${version}, or its tarball\n`,
  });
});

test.each(["published", "unpublished"] as const)(
  "a package of the working directory serves a command that is %s",
  async (kind) => {
    put("@pgque/bench", (target) => symlinkSync(path.join(root, "bench"), target));
    const { code, out, err } = await pgque(kind, ["bench", "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("--duration <seconds>");
  },
);

test("a package in another version is refused, and named with its folder", async () => {
  put("@pgque/bench", (target) => {
    mkdirSync(target);
    writeFileSync(path.join(target, "package.json"), JSON.stringify({ name: "@pgque/bench", version: "9.8.7" }));
    writeFileSync(path.join(target, "index.js"), "throw new Error('it was run')");
  });
  expect(await pgque("published", ["bench", "--quick"])).toEqual({
    code: 1,
    out: "",
    err: expect.stringMatching(
      `^error: .*, and the one in .*/node_modules/@pgque/bench has version 9\\.8\\.7, not ${version}\\. .*: npm install --save-dev @pgque/bench@${version}\n$`,
    ),
  });
});

test("a published version asks npm once, and says what to do when it is offline", async () => {
  const { code, out, err } = await pgque("published", ["bench", "--quick"], {
    npm_config_offline: "true",
    npm_config_cache: path.join(project, "cache"),
    npm_config_call: "pgque bench",
  });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err.match(/npm fetches/g)).toHaveLength(1);
  expect(err).toContain("ENOTCACHED");
  expect(err).toMatch(
    new RegExp(`npm could not fetch it, for the reason above\\. .*: npm install --save-dev @pgque/bench@${version}\n$`),
  );
});

test("a published version says so where there is no npm", async () => {
  const { code, err } = await pgque("published", ["dev"], { PATH: project });
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(
      /\nerror: .*, and npm, which would fetch it, cannot be run: .*ENOENT.* npm install --save-dev @pgque\/postgres@\S+\n$/,
    ),
  });
});

test("a queue by the name of the benchmark is a queue", async () => {
  const nowhere = ["--database-url", "postgres://nobody@127.0.0.1:1/none"];
  const { err } = await pgque("published", ["queue", "create", "bench", ...nowhere], { PATH: project });
  expect(err).toMatch(/^error: .*127\.0\.0\.1:1/);
});

/** A copy of the command with what it needs beside it. */
function install(kind: "published" | "unpublished"): string {
  const modules = path.join(folder, kind, "node_modules");
  const target = path.join(modules, "pgque");
  mkdirSync(path.join(modules, "@pgque"), { recursive: true });
  for (const part of ["bin", "dist"]) cpSync(path.join(cli, part), path.join(target, part), { recursive: true });
  const manifest = JSON.parse(readFileSync(path.join(cli, "package.json"), "utf8")) as object;
  writeFileSync(
    path.join(target, "package.json"),
    JSON.stringify({ ...manifest, ...(kind === "published" && { published: true }) }),
  );
  const needed = readdirSync(path.join(cli, "node_modules")).filter((name) => !/^(@pgque|\..*)$/.test(name));
  for (const name of [...needed, "@pgque/client", "@pgque/sql", "@pgque/worker"])
    symlinkSync(path.join(cli, "node_modules", name), path.join(modules, name));
  return path.join(target, "bin/pgque.js");
}

/** Puts a package into the project of a test. */
function put(name: string, make: (target: string) => void): void {
  const target = path.join(project, "node_modules", name);
  mkdirSync(path.dirname(target), { recursive: true });
  make(target);
}

function pgque(kind: keyof typeof commands, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  // pnpm puts all packages of the workspace on that path
  return new Running(args, { ...env, NODE_PATH: "" }, project, "", commands[kind]).ended;
}
