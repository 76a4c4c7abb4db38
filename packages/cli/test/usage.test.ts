import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { bin, environment, pgque } from "./support/pgque.ts";

test("--version is the package's", async () => {
  const { version } = JSON.parse(await readFile(path.join(import.meta.dirname, "../package.json"), "utf8"));
  expect(await pgque(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
});

test("help names every command and the exit codes; each command has an example", async () => {
  const { code, out } = await pgque(["--help"]);
  expect(code).toBe(0);
  const commands = ["install", "uninstall", "sql", "worker", "bench"];
  for (const command of commands) expect(out).toMatch(new RegExp(`^  ${command} `, "m"));
  expect(out).toContain("Exit codes: 0 done, 1 failed, 2 wrong usage");
  for (const command of commands) expect((await pgque([command, "--help"])).out).toContain("Examples:");
});

test.each([
  [[], "Usage: pgque"],
  [["instal"], "unknown command 'instal'"],
  [["install", "--shema", "x"], "unknown option '--shema'"],
  [["install"], "expected a database, found none"],
  [["install", "--database-url", "mysql://localhost/x"], "expected --database-url to be a connection string"],
  [["install", "--schema", "pg_mine", "--database-url", "postgres://localhost/x"], "expected --schema to be a name"],
  [["worker"], "missing required argument 'folder'"],
])("%j is wrong usage: exit code 2 and what was expected", async (args, message) => {
  const { code, err, out } = await pgque(args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test("a database that does not answer is named, its password is not", async () => {
  const { code, err } = await pgque(["install", "--database-url", "postgres://ada:s3cret@127.0.0.1:1/orders"]);
  expect(code).toBe(1);
  expect(err).toContain('could not connect to database "orders" at 127.0.0.1:1: connect ECONNREFUSED');
  expect(err).not.toContain("s3cret");
});

test("a connection string that does not parse is not shown", async () => {
  const { code, err } = await pgque(["install", "--database-url", "postgres://ada:s3cret@host:port/orders"]);
  expect(code).toBe(2);
  expect(err).not.toContain("s3cret");
});

test("too old a Node is told which one is needed", async () => {
  const pretend = "Object.defineProperty(process.versions,'node',{value:'20.19.0'})";
  const child = spawn(process.execPath, ["--import", `data:text/javascript,${pretend}`, bin, "--version"], {
    env: environment(),
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  expect(await text(child.stderr)).toContain("pgque needs Node.js 22.18 or newer, this is 20.19.0");
  expect(await exited).toBe(1);
});
