import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { freePort, startWatchdog } from "@pgque/postgres";
import { NotRun } from "../../runner/failure.ts";

/** A Redis of our own, empty. */
export interface RedisServer {
  host: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
}

const host = "127.0.0.1";

/**
 * Starts `redis-server` from the PATH with its built-in configuration and these changes to it.
 *
 * @throws NotRun when it is not installed
 */
export async function startRedis(changes: Record<string, string>): Promise<RedisServer> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "pgque-bench-redis-"));
  const watchdog = startWatchdog(folder);
  const port = await freePort();
  const settings = { port: String(port), bind: host, dir: folder, ...changes };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  // In a session of its own: Ctrl-C in a terminal ends the run, which ends the server.
  const child = spawn("redis-server", args, { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    // what it holds is not wanted any more
    child.kill("SIGKILL");
    await exited;
    await watchdog.dismiss();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await spawned(child);
    watchdog.watch(child.pid ?? 0);
    await ready(createInterface({ input: child.stdout }));
  } catch (error) {
    await stop();
    throw error;
  }
  return { host, port, pid: child.pid ?? 0, stop };
}

async function spawned(child: ReturnType<typeof spawn>): Promise<void> {
  try {
    await once(child, "spawn");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new NotRun("redis-server is not installed: apt-get install redis-server");
  }
}

/** Its log goes on being read, so that it never waits for us. */
async function ready(log: ReturnType<typeof createInterface>): Promise<void> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    log.on("line", (line) => {
      lines.push(line);
      if (line.includes("Ready to accept connections")) resolve();
    });
    log.once("close", () =>
      reject(new Error(`expected redis-server to start, it said:\n${lines.slice(-10).join("\n")}`)),
    );
  });
}
