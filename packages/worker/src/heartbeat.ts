import type { ResolvedOptions } from "./options.ts";
import type { Pulse } from "./pulse.ts";
import type { Settler } from "./settler.ts";

/** Keeps the leases of a worker's open batches alive, with the pulse that it shares with others. */
export class Heartbeat {
  readonly options: ResolvedOptions;
  /** Resolves when the worker is over and nothing is being sent. */
  readonly ended: Promise<void>;
  readonly #pulse: Pulse;
  readonly #settler: Settler;
  readonly #reading: string[] = [];

  constructor(pulse: Pulse, options: ResolvedOptions, settler: Settler, over: AbortSignal) {
    this.options = options;
    this.#pulse = pulse;
    this.#settler = settler;
    pulse.join(this);
    this.ended = new Promise((resolve) => over.addEventListener("abort", () => resolve(pulse.leave(this))));
  }

  /** The names under which leases are held. */
  get names(): string[] {
    return [...this.#reading, ...Array.from(this.#settler.open, ({ worker }) => worker)];
  }

  /** A batch was received under this name, and its payloads are still to be checked. What is returned is called when that is done. */
  keep(worker: string): () => void {
    this.#reading.push(worker);
    this.#pulse.received(worker);
    return () => void this.#reading.splice(this.#reading.indexOf(worker), 1);
  }
}
