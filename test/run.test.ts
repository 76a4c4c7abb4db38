import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "./support/until.ts";
import { isAlive } from "./support/is-alive.ts";

const root = path.resolve(import.meta.dirname, "..");

/** `npm test` and `npm run bench` are this script with a command that starts servers. */
test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "%s of the script behind the npm commands leaves no server and no folder",
  async (signal) => {
    const script = path.join(root, "scripts/run.mjs");
    const run = spawn(
      process.execPath,
      [script, "node", path.join(root, "packages/postgres/test/support/hold.ts"), "graceful"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    onTestFinished(() => void run.kill("SIGKILL"));
    const [line] = (await once(run.stdout, "data")) as [Buffer];
    const { pid, folder } = JSON.parse(line.toString()) as { pid: number; folder: string };
    const exited = once(run, "exit");
    run.kill(signal);
    await exited;
    await until(() => !isAlive(pid) && !existsSync(folder), "server and folder are gone");
    expect(run.signalCode ?? run.exitCode).toBe(signal === "SIGKILL" ? "SIGKILL" : 0);
  },
);

test("the exit code of the command is the script's", async () => {
  const run = spawn(process.execPath, [path.join(root, "scripts/run.mjs"), "node", "-e", "process.exit(7)"]);
  const [code] = await once(run, "exit");
  expect(code).toBe(7);
});
