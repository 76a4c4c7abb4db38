import type { Pgque } from "@pgque/client";
import type { ResolvedOptions } from "./options.ts";
import { repeat } from "./repeat.ts";
import type { Settler } from "./settler.ts";

/** A heartbeat counts for this many intervals: two may be lost. */
const intervalsAlive = 3;

/** Keeps the leases of open batches alive. Without any, nothing is sent. */
export class Heartbeat {
  readonly #pgque: Pgque;
  readonly #options: ResolvedOptions;
  readonly #settler: Settler;
  readonly #session: () => string | undefined;
  /** Resolves when the worker is over and nothing is being sent. */
  readonly ended: Promise<void>;
  /** When each name's latest heartbeat was sent. */
  #sentAtMs = new Map<string, number>();

  /** `session`: what `holdSession` holds just now. */
  constructor(
    pgque: Pgque,
    options: ResolvedOptions,
    settler: Settler,
    session: () => string | undefined,
    over: AbortSignal,
  ) {
    this.#pgque = pgque;
    this.#options = options;
    this.#settler = settler;
    this.#session = session;
    this.ended = repeat("heartbeat", options.heartbeatIntervalMs, options.log, over, () => this.#beat());
  }

  /** A batch was received under this name. The first after a rest does not wait for the next interval: a crash is to be noticed at once. */
  received(worker: string): void {
    const sentAtMs = this.#sentAtMs.get(worker) ?? Number.NEGATIVE_INFINITY;
    if (this.#session() === undefined || performance.now() - sentAtMs < this.#options.heartbeatIntervalMs) return;
    this.#tell([worker]);
  }

  /** There is one now, or the one that the last heartbeats named is over and this worker is not. */
  sessionChanged(): void {
    this.#tell(this.#names());
  }

  #names(): Set<string> {
    return new Set(Array.from(this.#settler.open, ({ worker }) => worker));
  }

  async #beat(): Promise<void> {
    const names = this.#names();
    for (const name of this.#sentAtMs.keys()) if (!names.has(name)) this.#sentAtMs.delete(name);
    for (const name of names) await this.#send(name);
  }

  /** Without waiting; what fails is sent again with the next interval. */
  #tell(names: Iterable<string>): void {
    for (const name of names)
      void this.#send(name).catch((error) => this.#options.log.debug("heartbeat failed, will try again", { error }));
  }

  async #send(name: string): Promise<void> {
    this.#sentAtMs.set(name, performance.now());
    await this.#pgque.heartbeat(name, intervalsAlive * this.#options.heartbeatIntervalMs, this.#session());
  }
}
