import { readFile } from "node:fs/promises";
import type pg from "pg";
import { processesOf, visiblePostmaster } from "./server-processes.ts";

/**
 * What a server's processes have for themselves, all together. Anonymous pages alone: RSS counts shared buffers once for each process that has touched
 * them and grows until all have, and to share them out (PSS) the kernel walks page tables for milliseconds a process.
 */
export class ServerMemory {
  readonly #postmaster: number;

  private constructor(postmaster: number) {
    this.#postmaster = postmaster;
  }

  /** Null when the server's processes cannot be seen from here. */
  static async of(client: pg.Client): Promise<ServerMemory | null> {
    const postmaster = await visiblePostmaster(client);
    return postmaster === null ? null : new ServerMemory(postmaster);
  }

  async bytes(): Promise<number> {
    const processes = await processesOf(this.#postmaster);
    const each = await Promise.all(processes.map(({ pid }) => anonymousBytes(pid)));
    return each.reduce((sum, bytes) => sum + bytes, 0);
  }
}

/** None of a process that has ended meanwhile. */
async function anonymousBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
