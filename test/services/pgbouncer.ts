import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import os from "node:os";
import path from "node:path";
import { freePort } from "@pgque/postgres";
import { until } from "../support/until.ts";

/** A pgbouncer in transaction mode in front of one database. */
export interface Pgbouncer extends AsyncDisposable {
  url: string;
  /** Ends it as a crash would, and starts it again at the same address. */
  restart(): Promise<void>;
}

export async function startPgbouncer(databaseUrl: string, poolSize: number): Promise<Pgbouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-pgbouncer-"));
  const listenPort = await freePort();
  const config = path.join(folder, "pgbouncer.ini");
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
ignore_startup_parameters = options
`,
  );
  // pgbouncer refuses to run as root
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  if (nobody.uid !== undefined) chownSync(config, nobody.uid, nobody.gid);
  chmodSync(folder, 0o711);
  const start = async (): Promise<() => Promise<void>> => {
    const child = spawn("pgbouncer", ["-q", config], {
      ...nobody,
      env: { PATH: `${process.env["PATH"]}:/usr/sbin` },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const exited = once(child, "exit");
    await until(() => {
      if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
      return accepts(listenPort);
    }, "pgbouncer listens");
    return async () => {
      child.kill("SIGKILL");
      await exited;
    };
  };
  let end = await start();
  return {
    url: `postgres://${username}@127.0.0.1:${listenPort}${pathname}`,
    async restart() {
      await end();
      end = await start();
    },
    async [Symbol.asyncDispose]() {
      await end();
      rmSync(folder, { recursive: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
