import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "./support/database.ts";
import { until } from "./support/until.ts";

const root = path.resolve(import.meta.dirname, "..");
// pnpm puts all packages of the workspace on that path, for what it starts
delete process.env["NODE_PATH"];

test("the README's first block leads from a checkout to the first handled message", { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque first "));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // the server's user, when this one is root, has to reach it
  chmodSync(folder, 0o711);
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const [, block = ""] = /first-minute\.sh -->\n```sh\n(.*?)```/s.exec(readme) ?? [];
  expect(block).toContain("pgque dev");
  const elsewhere = block.replaceAll("../", `"${folder}"/`);
  const child = spawn("bash", ["-euc", elsewhere], { cwd: root, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
  const closed = once(child, "close");
  await until(
    () => child.exitCode !== null || (output.includes("charged 42") && output.includes("charged 43")),
    "both orders are charged",
    240_000,
  );
  expect(output).toContain("charged 43");
  process.kill(-(child.pid ?? 0), "SIGINT");
  await closed;
  expect(existsSync(path.join(folder, "first-minute/.pgque/data/postmaster.pid"))).toBe(false);
});

test("the packed packages install into an empty project and run the first minute there", async () => {
  const project = mkdtempSync(path.join(os.tmpdir(), "pgque packed "));
  onTestFinished(() => rmSync(project, { recursive: true }));
  run(root, process.execPath, ["scripts/pack.mjs"]);
  const packages = path.join(root, "results/packages");
  const tarballs = readdirSync(packages).map((file) => path.join(packages, file));
  writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs, "zod"]);

  await using database = await freshDatabase();
  const client = await database.connect();
  await client.query("drop schema pgque cascade");
  const env = { DATABASE_URL: database.url };
  expect(run(project, "npx", ["pgque", "--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(run(project, "npx", ["pgque", "install"], env)).toMatch(/^Installed Pgque /);
  cpSync(path.join(root, "docs/examples/first-minute.ts"), path.join(project, "first-minute.ts"));
  const child = spawn(process.execPath, ["first-minute.ts"], { cwd: project, env: { ...process.env, ...env } });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  await until(() => output.includes("charged 42") && output.includes("charged 43"), "both orders are charged");
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);

  // a task in TypeScript, of a queue made by hand
  mkdirSync(path.join(project, "tasks"));
  writeFileSync(
    path.join(project, "tasks/mails.ts"),
    `import { defineTask } from "pgque";
     export default defineTask({ handler: async (message): Promise<void> => console.log("mailed", message.payload) });`,
  );
  const pgque = (...args: string[]): string => run(project, "npx", ["pgque", ...args], env);
  expect(pgque("queue", "create", "mails")).toBe('Created queue "mails".\n');
  expect(pgque("send", "mails", '{"to":"ada"}')).toMatch(/^Sent message \d+\.\n$/);
  expect(pgque("worker", "tasks/", "--once")).toMatch(/mailed \{ to: 'ada' \}\n.*"done":1,/s);
  expect(pgque("validate")).toMatch(/is what Pgque \S+ installs/);

  const cell = ["--quick", "--duration", "1", "--systems", "pgque", "--horizons", "none", "--results", "results"];
  run(project, "npx", ["pgque", "bench", ...cell], env);
  expect(readFileSync(path.join(project, "results/report.html"), "utf8")).toMatch(/<script>.*uplot .*Leon Sorokin/s);
});

test("client, worker and command line take less than 10 MB, and say what else there is", () => {
  const project = mkdtempSync(path.join(os.tmpdir(), "pgque light "));
  onTestFinished(() => rmSync(project, { recursive: true }));
  const packages = path.join(project, "packages");
  run(root, process.execPath, ["scripts/pack.mjs", packages]);
  const tarballs = readdirSync(packages).filter((file) => /^pgque-(\d|client|worker|sql)/.test(file));
  expect(tarballs).toHaveLength(4);
  writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true }));
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs.map((file) => path.join(packages, file))]);
  expect(bytesOf(path.join(project, "node_modules"))).toBeLessThan(10e6);
  expect(run(project, "npx", ["pgque", "sql"])).toContain("create function");
  for (const [needs, ...args] of [
    ["@pgque/bench", "bench", "--quick", "--systems", "pgque"],
    ["@pgque/bench", "bench", "drain", "--anything", "5"],
    ["@pgque/bench", "bench", "targets"],
    ["@pgque/postgres", "dev"],
  ] as const) {
    const bin = path.join(project, "node_modules/pgque/bin/pgque.js");
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { cwd: project, encoding: "utf8" });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: "",
      stderr: expect.stringMatching(
        new RegExp(`^error: .pgque ${args[0]}. needs the package ${needs}, .*npm install --save-dev ${needs}@\\d.*\n$`),
      ),
    });
  }
});

test("the client alone installs into its budget, and works by import and by require on the oldest Node it supports", () => {
  const project = mkdtempSync(path.join(os.tmpdir(), "pgque client "));
  onTestFinished(() => rmSync(project, { recursive: true }));
  const packages = path.join(project, "packages");
  run(root, process.execPath, ["scripts/pack.mjs", packages]);
  const tarballs = readdirSync(packages).filter((file) => /^pgque-(client|sql)-/.test(file));
  writeFileSync(path.join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs.map((file) => path.join(packages, file))]);

  const [, budget = ""] =
    /at most (\d+(?:\.\d+)?) MB/.exec(readFileSync(path.join(root, "packages/client/README.md"), "utf8")) ?? [];
  expect(bytesOf(path.join(project, "node_modules"))).toBeLessThanOrEqual(Number(budget) * 1e6);

  run(project, "npm", ["install", "--no-audit", "--no-fund", `node-linux-${process.arch}@22.18.0`]);
  const node22 = path.join(project, `node_modules/node-linux-${process.arch}/bin/node`);
  const use = "console.log(process.version, defineQueue('q').name)";
  for (const args of [
    ["--input-type=module", "-e", `import { defineQueue } from "@pgque/client"; ${use}`],
    ["--input-type=commonjs", "-e", `const { defineQueue } = require("@pgque/client"); ${use}`],
  ])
    expect(run(project, node22, args)).toBe("v22.18.0 q\n");
});

function bytesOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}

function run(cwd: string, command: string, args: string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
