import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";

/** What one line of /proc/<pid>/stat says, in the clock's ticks; `reaped` is the time of children that have ended and been waited for. */
export interface ProcessTimes {
  parent: number;
  own: number;
  reaped: number;
}

/** Null when there is no such process, or it cannot be seen. */
export async function processTimes(pid: number): Promise<ProcessTimes | null> {
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

/** The first of a server's processes; null when they cannot be seen from here: another machine, a container, not Linux. */
export async function visiblePostmaster(client: pg.Client): Promise<number | null> {
  const { rows } = await client.query<{ pid: number; database: string }>(
    "select pg_backend_pid() as pid, current_database() as database",
  );
  const backend = rows[0];
  if (backend === undefined) return null;
  // A pid of another machine may exist here too; the title of our backend names our database.
  const title = await readFile(`/proc/${backend.pid}/cmdline`, "utf8").catch(() => "");
  if (!title.includes(backend.database)) return null;
  return (await processTimes(backend.pid))?.parent ?? null;
}

/** The postmaster and all its children, as they are now. */
export async function processesOf(postmaster: number): Promise<(ProcessTimes & { pid: number })[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(pids.map(async (pid) => ({ pid, times: await processTimes(pid) })));
  return all.flatMap(({ pid, times }) =>
    times !== null && (pid === postmaster || times.parent === postmaster) ? [{ pid, ...times }] : [],
  );
}
