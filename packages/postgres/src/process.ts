import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Identity } from "./run-as.ts";

const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" };

/** Starts a program that writes its output to `log`. In a session of its own: Ctrl-C is for us to handle. */
export function launch(
  program: string,
  args: string[],
  identity: Identity,
  log: string,
  variables: Record<string, string> = {},
): ChildProcess {
  const output = openSync(log, "a");
  try {
    return spawn(program, args, {
      ...identity,
      cwd: "/",
      env: { ...environment, ...variables },
      detached: true,
      stdio: ["ignore", output, output],
    });
  } finally {
    closeSync(output);
  }
}

/** Resolves with the exit code of a process, or the name of the signal that ended it. */
export function exited(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  if (child.signalCode !== null) return Promise.resolve(child.signalCode);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });
}

/** A standby takes connections, too, once it is consistent. */
const accepting = new Set(["ready", "standby"]);

/** Waits until the server says in its pid file that it takes connections. False: it ended first. */
export async function ready(server: ChildProcess, data: string, timeoutMs: number): Promise<boolean> {
  const file = path.join(data, "postmaster.pid");
  const deadline = performance.now() + timeoutMs;
  while (server.exitCode === null && server.signalCode === null && performance.now() < deadline) {
    const lines = readIfThere(file).split("\n");
    if (Number(lines[0]) === server.pid && accepting.has(lines[7]?.trim() ?? "")) return true;
    await pause(10);
  }
  return false;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
