import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readFileSync } from "node:fs";
import os from "node:os";

/** What one line of /proc/<pid>/stat says, in the clock's ticks; `reaped` is the time of children that have ended and been waited for. */
interface ProcessTimes {
  parent: number;
  own: number;
  reaped: number;
}

/** Null when there is no such process, or it cannot be seen. */
async function processTimes(pid: number): Promise<ProcessTimes | null> {
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
async function visiblePostmaster(client: pg.Client): Promise<number | null> {
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
async function processesOf(postmaster: number): Promise<(ProcessTimes & { pid: number })[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(pids.map(async (pid) => ({ pid, times: await processTimes(pid) })));
  return all.flatMap(({ pid, times }) =>
    times !== null && (pid === postmaster || times.parent === postmaster) ? [{ pid, ...times }] : [],
  );
}

/** Linux reports times of processes and of the machine in hundredths of a second, whatever the kernel's own tick. */
const ticksPerSecond = 100;

/** CPU seconds that a server has used. */
export interface CpuClock {
  seconds(): Promise<number>;
}

/** Of several servers together. */
export function sumOfCpu(clocks: CpuClock[]): CpuClock {
  return {
    async seconds() {
      const all = await Promise.all(clocks.map((clock) => clock.seconds()));
      return all.reduce((sum, seconds) => sum + seconds, 0);
    },
  };
}

/** Of one process and its children that have ended. */
export function processCpu(pid: number): CpuClock {
  return {
    async seconds() {
      const times = await processTimes(pid);
      if (times === null) throw new Error(`cannot see process ${pid}`);
      return (times.own + times.reaped) / ticksPerSecond;
    },
  };
}

/** Of all of a PostgreSQL server's processes, ended ones included. Null when they cannot be seen from here: another machine, a container, not Linux. */
export async function serverCpu(client: pg.Client): Promise<CpuClock | null> {
  const postmaster = await visiblePostmaster(client);
  if (postmaster === null) return null;
  return {
    async seconds() {
      const running = await Promise.all((await processesOf(postmaster)).map(secondsOf));
      const reaped = (await processTimes(postmaster))?.reaped ?? 0;
      return running.reduce((sum, seconds) => sum + seconds, reaped / ticksPerSecond);
    },
  };
}

/** Of the server process of one connection. Null when it cannot be seen from here. */
export async function backendCpu(client: pg.Client): Promise<CpuClock | null> {
  if ((await visiblePostmaster(client)) === null) return null;
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid ?? 0;
  return { seconds: async () => secondsOf({ pid, own: 0 }) };
}

/** To a nanosecond where the kernel keeps that: an idle server uses less than a tick in seconds. Of the one thread that a server process has. */
async function secondsOf({ pid, own }: { pid: number; own: number }): Promise<number> {
  const line = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "");
  const nanoseconds = Number.parseInt(line, 10);
  return nanoseconds > 0 ? nanoseconds / 1e9 : own / ticksPerSecond;
}

/**
 * What a server's processes have for themselves, all together. Anonymous pages alone: RSS counts shared buffers once for each process that has touched
 * them and grows until all have, and to share them out (PSS) the kernel walks page tables for milliseconds a process. Null when they cannot be seen from here.
 */
export async function serverMemory(client: pg.Client): Promise<{ bytes: () => Promise<number> } | null> {
  const postmaster = await visiblePostmaster(client);
  if (postmaster === null) return null;
  return {
    async bytes() {
      const each = await Promise.all((await processesOf(postmaster)).map(({ pid }) => anonymousBytes(pid)));
      return each.reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

/** None of a process that has ended meanwhile. */
async function anonymousBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Of this process. */
interface OwnMemory {
  rssBytes: number;
  /** Of what is still in use; null unless garbage was collected. */
  heapBytes: number | null;
}

/** Looks at this process's memory, if asked to after a full garbage collection, which halts it for tens of milliseconds. */
export function ownMemory(): (collect: boolean) => OwnMemory {
  setFlagsFromString("--expose-gc");
  // only contexts that are made from now on have it
  const collectGarbage = runInNewContext("gc") as () => void;
  return (collect) => {
    if (collect) collectGarbage();
    const { rss, heapUsed } = process.memoryUsage();
    return { rssBytes: rss, heapBytes: collect ? heapUsed : null };
  };
}

/** Who used the machine's cores. Null where the server's processes cannot be seen. */
export interface CpuUsed {
  serverCpuSeconds: number | null;
  harnessCpuSeconds: number;
  /** By everything on the machine that is neither server nor harness. */
  otherCpuSeconds: number | null;
  /** How much of the time the harness's one thread was busy, 0 to 1. */
  harnessBusy: number;
}

/** What is returned says who used them since then. */
export async function startCpuUse(server: CpuClock | null): Promise<{ used: () => Promise<CpuUsed> }> {
  const serverBefore = (await server?.seconds()) ?? 0;
  const [machineBefore, harnessBefore, loop] = [
    machineSeconds(),
    process.cpuUsage(),
    performance.eventLoopUtilization(),
  ];
  return {
    async used() {
      const harness = process.cpuUsage(harnessBefore);
      const harnessCpuSeconds = (harness.user + harness.system) / 1_000_000;
      const machine = machineSeconds() - machineBefore;
      const { utilization } = performance.eventLoopUtilization(loop);
      // a process that has ended is counted in whole ticks, and so may be one tick less than while it ran
      const serverCpuSeconds = server === null ? null : Math.max(0, (await server.seconds()) - serverBefore);
      const otherCpuSeconds =
        serverCpuSeconds === null ? null : Math.max(0, machine - serverCpuSeconds - harnessCpuSeconds);
      return { serverCpuSeconds, harnessCpuSeconds, otherCpuSeconds, harnessBusy: utilization };
    },
  };
}

/**
 * Of all cores together, everything but idling. On Linux as the kernel has it in /proc/stat: `os.cpus()` leaves out soft interrupts, and what a
 * hypervisor took away.
 */
function machineSeconds(): number {
  if (process.platform !== "linux") {
    const ms = os.cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq);
    return ms.reduce((sum, core) => sum + core, 0) / 1000;
  }
  const [total = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = total
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}
