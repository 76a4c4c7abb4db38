import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

test("the suite runs on a server in a container with one environment variable", async () => {
  const suite = spawn(
    "vitest",
    ["run", "--project", "fast", "packages/client/test/send-receive", "sql/test/cursor/cursor"],
    {
      cwd: root,
      env: { ...process.env, PGQUE_TEST_SERVER: "testcontainers" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [output, errors, [code]] = await Promise.all([text(suite.stdout), text(suite.stderr), once(suite, "exit")]);
  expect({ code, output: code === 0 ? "" : output + errors }).toEqual({ code: 0, output: "" });
  expect(output).toMatch(/Test Files .*2 passed/);
});
