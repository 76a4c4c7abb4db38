import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");

// 15 is tested as Debian ships it, by test:services
test.each([14, 16, 18])("everything that runs on PostgreSQL 17 by default runs on %i", async (major) => {
  const suite = spawn(
    "vitest",
    ["run", "--project", "fast", "--maxWorkers=2", "sql", "packages/client", "packages/worker"],
    {
      cwd: root,
      env: { ...process.env, PGQUE_TEST_POSTGRES: String(major) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [output, errors, [code]] = await Promise.all([text(suite.stdout), text(suite.stderr), once(suite, "exit")]);
  expect({ code, output: code === 0 ? "" : output + errors }).toEqual({ code: 0, output: "" });
});
