import { readFileSync } from "node:fs";
import os from "node:os";
import { ticksPerSecond, type CpuClock } from "./server-cpu.ts";

/** Who used the machine's cores. Null where the server's processes cannot be seen. */
export interface CpuUsed {
  serverCpuSeconds: number | null;
  harnessCpuSeconds: number;
  /** By everything on the machine that is neither server nor harness. */
  otherCpuSeconds: number | null;
  /** How much of the time the harness's one thread was busy, 0 to 1. */
  harnessBusy: number;
}

export class CpuUse {
  readonly #server: CpuClock | null;
  readonly #serverSeconds: number | null;
  readonly #harness = process.cpuUsage();
  readonly #loop = performance.eventLoopUtilization();
  readonly #machineSeconds = machineSeconds();

  private constructor(server: CpuClock | null, serverSeconds: number | null) {
    this.#server = server;
    this.#serverSeconds = serverSeconds;
  }

  static async start(server: CpuClock | null): Promise<CpuUse> {
    return new CpuUse(server, server === null ? null : await server.seconds());
  }

  /** Since the start. */
  async used(): Promise<CpuUsed> {
    const harness = process.cpuUsage(this.#harness);
    const harnessCpuSeconds = (harness.user + harness.system) / 1_000_000;
    const machine = machineSeconds() - this.#machineSeconds;
    const { utilization } = performance.eventLoopUtilization(this.#loop);
    const server =
      this.#server === null || this.#serverSeconds === null
        ? null
        : // a process that has ended is counted in whole ticks, and so may be one tick less than while it ran
          Math.max(0, (await this.#server.seconds()) - this.#serverSeconds);
    return {
      serverCpuSeconds: server,
      harnessCpuSeconds,
      otherCpuSeconds: server === null ? null : Math.max(0, machine - server - harnessCpuSeconds),
      harnessBusy: utilization,
    };
  }
}

/** Of all cores together, everything but idling. */
function machineSeconds(): number {
  return process.platform === "linux" ? linuxSeconds() : elsewhereSeconds();
}

/** As the kernel has it in /proc/stat. `os.cpus()` leaves out soft interrupts, and what a hypervisor took away. */
function linuxSeconds(): number {
  const [total = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = total
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}

function elsewhereSeconds(): number {
  const ms = os.cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq);
  return ms.reduce((sum, core) => sum + core, 0) / 1000;
}
