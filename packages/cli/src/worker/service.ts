import type { Logger, Worker } from "@pgque/worker";
import type { StopSignals } from "../signals.ts";
import type { Fleet } from "./fleet.ts";
import type { Monitored } from "./probes.ts";

/** How long a stop may take that waits for nobody: a second each for handlers, for what they had in hand and for connections, and some more. */
const forcedMs = 10_000;

/** Runs a fleet until it is told to stop, and may run another in its place. */
export class Service {
  readonly #log: Logger;
  readonly #collect: (workers: readonly Worker[]) => Monitored | undefined;
  /** Those that are not stopped yet: the one that serves, and those whose handlers finish. */
  readonly #fleets = new Set<Fleet>();
  #serving: Fleet | undefined;
  #isStopping = false;
  #isForced = false;
  #reloading: Promise<void> = Promise.resolve();
  /** What the fleet that serves is asked by probes. */
  monitored: Monitored | undefined;

  /** `collect`: has the workers' events counted, called once for each fleet before it starts. */
  constructor(log: Logger, collect: (workers: readonly Worker[]) => Monitored | undefined) {
    this.#log = log;
    this.#collect = collect;
  }

  /**
   * Starts a fleet, then stops the one that served until now: when the new one cannot start, nothing has changed. The old one's handlers finish
   * beside it.
   */
  async serve(fleet: Fleet): Promise<void> {
    const before = this.#serving;
    const monitored = this.#collect(fleet.workers);
    this.monitored ??= monitored;
    this.#fleets.add(fleet);
    try {
      await fleet.start();
    } catch (error) {
      this.#fleets.delete(fleet);
      throw error;
    }
    this.#serving = fleet;
    this.monitored = monitored;
    if (before !== undefined) void this.#end(before);
  }

  /** Serves what is made anew, once those before are; what cannot be made or started is logged, and the fleet that serves goes on. */
  reload(make: () => Promise<Fleet>): void {
    this.#reloading = this.#reloading.then(() => this.#reload(make));
  }

  /**
   * Stops when the first signal has come, and with the second at once.
   *
   * @throws Error when handlers were not waited for
   */
  async until({ first, second }: StopSignals): Promise<void> {
    const signal = await first;
    this.#log.info("stopping, a second signal aborts handlers", { signal });
    void second.then(() => this.#force());
    await this.stop();
    if (this.#isForced) throw new Error("stopped without waiting for handlers: their messages were released");
  }

  /** Lets handlers finish. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(Array.from(this.#fleets, (fleet) => this.#end(fleet)));
    await this.#reloading;
  }

  async #reload(make: () => Promise<Fleet>): Promise<void> {
    if (this.#isStopping) return;
    try {
      const fleet = await make();
      if (this.#isStopping) return await fleet.stop();
      await this.serve(fleet);
      this.#log.info("reloaded", { queues: fleet.workers.map(({ queue }) => queue) });
    } catch (error) {
      this.#log.error("could not reload, the handlers from before go on", { error });
    }
  }

  #force(): void {
    this.#isForced = true;
    this.#log.warn("handlers are aborted, a third signal exits immediately");
    for (const fleet of this.#fleets) fleet.force();
    // whatever does not come to its end
    setTimeout(() => process.exit(1), forcedMs).unref();
  }

  async #end(fleet: Fleet): Promise<void> {
    try {
      await fleet.stop();
    } catch (error) {
      this.#log.warn("could not stop cleanly", { error });
    }
    this.#fleets.delete(fleet);
  }
}
