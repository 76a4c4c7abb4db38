import { setInterval } from "node:timers";
import { note, serve } from "../../runner/serve.ts";
import { drainSystems, named } from "../../adapters/registry.ts";
import { Seen, type Numbered } from "../../load/messages.ts";
import type { OpenWorker } from "../../adapters/adapter.ts";

/** How often the harness is told how far it is. */
const progressMs = 20;

/** What a process says while it drains. */
export interface DrainNote {
  handled: number;
}

/** Of this process, now. */
export interface MemorySample {
  handled: number;
  rssBytes: number;
  heapBytes: number;
}

/** Of one process. */
export interface DrainUse {
  cpuSeconds: number;
  rssBytesMax: number;
}

let worker: OpenWorker;
let seen: Seen;
let cpu: NodeJS.CpuUsage;

const handle = (message: Numbered): void => seen.add(message);

const methods = {
  /** Connects; nothing is received yet. */
  async open({ system, url, messages }: { system: string; url: string; messages: number }): Promise<void> {
    seen = new Seen(messages);
    worker = await named(drainSystems, system).connect(url, handle);
    let told = 0;
    setInterval(() => {
      if (seen.count === told) return;
      told = seen.count;
      note({ handled: told } satisfies DrainNote);
    }, progressMs);
  },
  async start(): Promise<void> {
    cpu = process.cpuUsage();
    await worker.start();
  },
  /** The heap's garbage is collected first: what is left is what is held. */
  memory(): MemorySample {
    global.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    return { handled: seen.count, rssBytes: rss, heapBytes: heapUsed };
  },
  /** Since the start. */
  use(): DrainUse {
    const { user, system } = process.cpuUsage(cpu);
    return { cpuSeconds: (user + system) / 1_000_000, rssBytesMax: process.resourceUsage().maxRSS * 1024 };
  },
  /** What it was given, after it has stopped. */
  async stop(): Promise<{ bits: Uint8Array; again: number }> {
    await worker.stop();
    return { bits: seen.bits, again: seen.again };
  },
};

export type DrainMethods = typeof methods;

serve(methods);
