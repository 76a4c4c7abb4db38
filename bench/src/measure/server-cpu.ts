import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";

/** Linux reports process times in hundredths of a second, whatever the kernel's own tick. */
const ticksPerSecond = 100;

/** What one line of /proc/<pid>/stat says; `reaped` is the time of children that have ended and been waited for. */
interface ProcessTimes {
  parent: number;
  own: number;
  reaped: number;
}

async function timesOf(pid: number | string): Promise<ProcessTimes | null> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (line === null) return null;
  // The process name comes second, in brackets, and may itself hold brackets and spaces.
  const fields = line
    .slice(line.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [parent, user, system, reapedUser, reapedSystem] = [fields[1], fields[11], fields[12], fields[13], fields[14]];
  if (parent === undefined || user === undefined || system === undefined) return null;
  return { parent, own: user + system, reaped: (reapedUser ?? 0) + (reapedSystem ?? 0) };
}

/** CPU seconds used by all of a server's processes, ended ones included. */
export class ServerCpu {
  readonly #postmaster: number;

  private constructor(postmaster: number) {
    this.#postmaster = postmaster;
  }

  /** Null when the server's processes cannot be seen from here: another machine, a container, not Linux. */
  static async of(client: pg.Client): Promise<ServerCpu | null> {
    const { rows } = await client.query<{ pid: number; database: string }>(
      "select pg_backend_pid() as pid, current_database() as database",
    );
    const backend = rows[0];
    if (backend === undefined) return null;
    // A pid of another machine may exist here too; the title of our backend names our database.
    const title = await readFile(`/proc/${backend.pid}/cmdline`, "utf8").catch(() => "");
    if (!title.includes(backend.database)) return null;
    const times = await timesOf(backend.pid);
    return times === null ? null : new ServerCpu(times.parent);
  }

  async seconds(): Promise<number> {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const all = await Promise.all(pids.map(timesOf));
    const postmaster = await timesOf(this.#postmaster);
    const ticks = all
      .filter((times) => times?.parent === this.#postmaster)
      .reduce((sum, times) => sum + (times?.own ?? 0), (postmaster?.own ?? 0) + (postmaster?.reaped ?? 0));
    return ticks / ticksPerSecond;
  }
}
