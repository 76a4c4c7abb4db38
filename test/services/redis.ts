import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "@pgque/postgres";

/** A Redis of a test's own, empty, on loopback. */
export interface Redis extends AsyncDisposable {
  url: string;
}

export async function startRedis(): Promise<Redis> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-redis-"));
  const port = await freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(server, "spawn");
  for await (const line of createInterface(server.stdout)) if (line.includes("Ready to accept connections")) break;
  server.stdout.resume();
  return {
    url: `redis://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.kill("SIGKILL");
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
