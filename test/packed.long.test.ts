import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "./support/database.ts";
import { until } from "./support/until.ts";

const root = path.resolve(import.meta.dirname, "..");

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
});

function run(cwd: string, command: string, args: string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
