import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "@pgque/postgres";

/** A Redis of a test's own, empty, on loopback. */
export interface Redis extends AsyncDisposable {
  url: string;
  /** Kills it and starts it again, with what it has on disk. */
  crash(): Promise<void>;
}

/** `durable`: each command is on disk before it is answered. */
export async function startRedis({ durable = false }: { durable?: boolean } = {}): Promise<Redis> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-redis-"));
  const port = await freePort();
  const disk = durable ? ["--appendonly", "yes", "--appendfsync", "always"] : [];
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", ...disk];
  let server = await started(args);
  const kill = async (): Promise<void> => {
    const closed = once(server, "close");
    server.kill("SIGKILL");
    await closed;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    async crash() {
      await kill();
      server = await started(args);
    },
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function started(args: readonly string[]): Promise<ChildProcess> {
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(server, "spawn");
  for await (const line of createInterface(server.stdout)) if (line.includes("Ready to accept connections")) break;
  server.stdout.resume();
  return server;
}
