import type { Lease } from "./lease.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import type { Heartbeater, HeartbeatMember } from "./heartbeater.ts";
import type { Settler } from "../settle/settler.ts";

/** Keeps the leases of a worker's open batches alive, with the heartbeater that it shares with others. */
export class Heartbeat implements HeartbeatMember {
  readonly options: ResolvedOptions;
  /** Resolves when the worker is over and nothing is being sent. */
  readonly ended: Promise<void>;
  readonly #heartbeater: Heartbeater;
  readonly #settler: Settler;
  readonly #reading: { worker: string; lease: Lease }[] = [];

  constructor(heartbeater: Heartbeater, options: ResolvedOptions, settler: Settler, over: AbortSignal) {
    this.options = options;
    this.#heartbeater = heartbeater;
    this.#settler = settler;
    heartbeater.join(this);
    this.ended = new Promise((resolve) => over.addEventListener("abort", () => resolve(heartbeater.leave(this))));
  }

  /** The names under which leases are held. */
  get names(): string[] {
    return [...this.#reading, ...this.#settler.open].map(({ worker }) => worker);
  }

  /** The database has heard these names, which counts until then, by `performance.now()`. */
  heard(names: ReadonlySet<string>, untilMs: number): void {
    for (const { worker, lease } of [...this.#reading, ...this.#settler.open])
      if (names.has(worker)) lease.prolong(untilMs);
  }

  /** A batch was received under this name, and its payloads are still to be checked. What is returned is called when that is done. */
  keep(worker: string, lease: Lease): () => void {
    const reading = { worker, lease };
    this.#reading.push(reading);
    this.#heartbeater.received(worker);
    return () => void this.#reading.splice(this.#reading.indexOf(reading), 1);
  }
}
