import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { isAlive } from "../../../test/support/is-alive.ts";

test.each([
  ["SIGKILL", ""],
  ["SIGTERM", ""],
  ["SIGINT", "graceful"],
] as const)("after %s of the process that started it, server and folder are gone (%j)", async (signal, how) => {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "support/hold.ts"), how], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { pid, folder } = JSON.parse(line.toString()) as { pid: number; folder: string };
  expect({ alive: isAlive(pid), folder: existsSync(folder) }).toEqual({ alive: true, folder: true });
  child.kill(signal);
  await until(() => !isAlive(pid) && !existsSync(folder), "server and folder are gone");
});
