import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { startPostgres, type Postgres, type PostgresOptions } from "@pgque/postgres";
import { inMemory } from "../support/server.ts";
import { programs } from "./programs.ts";

const run = promisify(execFile);

/** A real standby that streams from another server: read-only, with its databases, roles and passwords. */
export interface Follower extends AsyncDisposable {
  server: Postgres;
  /** A database of the leader, over here. */
  urlOf(leaderUrl: string): string;
}

/**
 * Copies a running server of major version 15 and starts the copy as its standby; ready when it takes connections.
 *
 * @param settings `hot_standby_feedback`, say
 */
export async function startFollower(leader: Postgres, settings: PostgresOptions["settings"] = {}): Promise<Follower> {
  const folder = mkdtempSync(path.join(inMemory().parent ?? os.tmpdir(), "pgque-follower-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    // PostgreSQL refuses to run as root, and the copy has to be its own
    const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    chmodSync(folder, 0o711);
    if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid);
    const data = path.join(folder, "data");
    const copied = ["--pgdata", data, "--write-recovery-conf", "--checkpoint", "fast", "--no-sync"];
    await run(`${programs}/pg_basebackup`, [...copied, "--dbname", leader.url], { ...nobody, cwd: "/" });
    writeFileSync(path.join(folder, "server.json"), JSON.stringify({ major: 15, password: leader.password }));
    const server = await startPostgres({ major: 15, keepIn: folder, settings });
    return {
      server,
      urlOf: (leaderUrl) => server.urlFor(new URL(leaderUrl).pathname.slice(1)),
      async [Symbol.asyncDispose]() {
        await server.stop({ immediate: true });
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
