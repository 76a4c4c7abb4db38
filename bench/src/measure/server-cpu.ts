import { readFile } from "node:fs/promises";
import type pg from "pg";
import { processTimes, processesOf, visiblePostmaster } from "./server-processes.ts";

/** Linux reports times of processes and of the machine in hundredths of a second, whatever the kernel's own tick. */
export const ticksPerSecond = 100;

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

/** Of all of a PostgreSQL server's processes, ended ones included. */
export class ServerCpu implements CpuClock {
  readonly #postmaster: number;

  private constructor(postmaster: number) {
    this.#postmaster = postmaster;
  }

  /** Null when the server's processes cannot be seen from here: another machine, a container, not Linux. */
  static async of(client: pg.Client): Promise<ServerCpu | null> {
    const postmaster = await visiblePostmaster(client);
    return postmaster === null ? null : new ServerCpu(postmaster);
  }

  async seconds(): Promise<number> {
    const running = await Promise.all((await processesOf(this.#postmaster)).map(secondsOf));
    const postmaster = await processTimes(this.#postmaster);
    return running.reduce((sum, seconds) => sum + seconds, (postmaster?.reaped ?? 0) / ticksPerSecond);
  }
}

/** To a nanosecond where the kernel keeps that: an idle server uses less than a tick in seconds. Of the one thread that a server process has. */
async function secondsOf({ pid, own }: { pid: number; own: number }): Promise<number> {
  const line = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "");
  const nanoseconds = Number.parseInt(line, 10);
  return nanoseconds > 0 ? nanoseconds / 1e9 : own / ticksPerSecond;
}
