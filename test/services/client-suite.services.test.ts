import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { ownServer } from "../support/database.ts";
import { startPgbouncer } from "./pgbouncer.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** Tests of what a session keeps, or of how connections are lost and found. */
const aboutSessions = new Set(["repeat.test.ts", "connect.test.ts", "sqlstates.test.ts"]);
const files = readdirSync(path.join(root, "packages/client/test"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts") && !aboutSessions.has(file))
  .map((file) => `packages/client/test/${file}`);

test("the client's tests pass through pgbouncer in transaction mode", { timeout: 600_000 }, async () => {
  await using database = await ownServer();
  await using pgbouncer = await startPgbouncer(database.url, 20);
  const suite = spawn("vitest", ["run", "--project", "fast", "--maxWorkers=2", ...files], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.server.url, PGQUE_TEST_POOLER: new URL(pgbouncer.url).host },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors, [code]] = await Promise.all([text(suite.stdout), text(suite.stderr), once(suite, "exit")]);
  expect({ code, output: code === 0 ? "" : output + errors }).toEqual({ code: 0, output: "" });
});
