import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import type { Client } from "pg";
import { beforeAll, inject, onTestFinished } from "vitest";
import type { TestDatabase } from "../support/database.ts";
import { asAdmin } from "../support/server.ts";

export const root = path.resolve(import.meta.dirname, "../..");

/**
 * Packs the packages once for a test file. Returns what copies an example, installs the packed packages and what it depends on, and runs its script
 * that checks its types: `check`, or `build`.
 */
export function packed(): (name: string, script?: string) => string {
  let tarballs: string[];
  beforeAll(() => {
    const packages = mkdtempSync(path.join(os.tmpdir(), "pgque tarballs "));
    run(root, process.execPath, ["scripts/pack.mjs", packages]);
    tarballs = readdirSync(packages).map((file) => path.join(packages, file));
    return () => rmSync(packages, { recursive: true });
  }, 300_000);
  return (name, script = "check") => {
    const project = mkdtempSync(path.join(os.tmpdir(), `pgque ${name} `));
    onTestFinished(() => rmSync(project, { recursive: true }));
    cpSync(path.join(root, "examples", name), project, {
      recursive: true,
      filter: (file) => !["node_modules", "dist"].includes(path.basename(file)),
    });
    run(project, "npm", ["install", "--no-audit", "--no-fund", ...tarballs]);
    run(project, "npm", ["run", script]);
    return project;
  };
}

/** A program of an example that runs until the test is over, unless it ends before. */
export interface Program {
  child: ChildProcess;
  /** What it has printed so far. */
  output: () => string;
  /** Its exit code and the signal that ended it, when it has ended. */
  closed: Promise<unknown[]>;
}

/** Starts Node in a project. */
export function start(project: string, args: string[], variables: NodeJS.ProcessEnv): Program {
  const child = spawn(process.execPath, args, { cwd: project, env: { ...process.env, ...variables } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
  return { child, output: () => output, closed: once(child, "close") };
}

/** Runs `pgque` in a project to its end. */
export function pgque(project: string, url: string, ...args: string[]): void {
  run(project, process.execPath, ["node_modules/pgque/bin/pgque.js", ...args, "--database-url", url]);
}

/** The first block of a language in a project's README that has a word in it. */
export function quoted(project: string, language: "sh" | "sql", word: string): string {
  const readme = readFileSync(path.join(project, "README.md"), "utf8");
  const blocks = Array.from(readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)).filter(([, of]) => of === language);
  const block = blocks.map(([, , text = ""]) => text).find((text) => text.includes(word));
  if (block === undefined) throw new Error(`expected ${word} in a block of the README`);
  return block;
}

/** Creates a role with the rights that a project's README grants to one of this name, and no others. Returns the database's URL for it. */
export async function asRole(project: string, database: TestDatabase, name: string): Promise<string> {
  // roles belong to the server, on which other tests run
  const role = `${name}_${randomBytes(6).toString("hex")}`;
  const admin = await database.connect();
  await admin.query(`create role ${role} login password 'secret'`);
  onTestFinished(async () => void (await asAdmin(inject("serverUrl"), (server) => server.query(`drop role ${role}`))));
  await admin.query(quoted(project, "sql", "grant").replaceAll(` ${name};`, ` ${role};`));
  const url = new URL(database.url);
  [url.username, url.password] = [role, "secret"];
  return url.href;
}

/** Whether a session of the database waits for a lock. */
export async function isWaiting(admin: Client): Promise<boolean> {
  const { rowCount } = await admin.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rowCount !== 0;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The status of a GET, or undefined while nobody listens. */
export function statusOf(url: string): Promise<number | undefined> {
  return fetch(url).then(
    ({ status }) => status,
    () => undefined,
  );
}

/** POSTs JSON. Returns the status and the answer. */
export async function post(url: string, body: object): Promise<[number, unknown]> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return [answer.status, await answer.json()];
}

/** Runs a program to its end. Returns its standard output. */
export function run(cwd: string, command: string, args: string[], env = process.env): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
