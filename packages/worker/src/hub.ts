import type { Pgque, Queue } from "@pgque/client";
import { Heartbeat } from "./heartbeat.ts";
import { Keeper } from "./keeper.ts";
import { Line } from "./line.ts";
import { shared } from "./log.ts";
import type { ResolvedOptions } from "./options.ts";
import { Pulse } from "./pulse.ts";
import type { Settler } from "./settler.ts";
import { Waker } from "./waker.ts";

/** One for each, for as long as it is used. */
const hubs = new WeakMap<Pgque, Hub>();

/**
 * What the workers of one `Pgque` share: the connection on which they listen, the heartbeats, the upkeep of their queues. Each is begun by the
 * first worker that needs it and ends with the last.
 */
export class Hub {
  readonly #pgque: Pgque;
  readonly #line: Line;
  readonly #keeper: Keeper;
  /** Of workers that listen, and of those that do not, by their interval. */
  readonly #pulses = { listening: new Map<number, Pulse>(), others: new Map<number, Pulse>() };
  readonly #members = new Set<Pick<ResolvedOptions, "log">>();
  readonly #log = shared(() => Array.from(this.#members, ({ log }) => log));
  /** An idle connection that breaks is replaced at the next use. A pool of the application's with nobody to hear of it would end the process. */
  readonly #onIdleError = (error: Error): void => this.#log.debug("an idle connection is lost", { error });

  private constructor(pgque: Pgque) {
    this.#pgque = pgque;
    this.#keeper = new Keeper(pgque);
    this.#line = new Line(pgque, () => {
      for (const pulse of this.#pulses.listening.values()) pulse.sessionChanged();
    });
  }

  static of(pgque: Pgque): Hub {
    const hub = hubs.get(pgque) ?? new Hub(pgque);
    hubs.set(pgque, hub);
    return hub;
  }

  /** A worker begins to use the pool, which one that is started and drains does twice. What is returned ends that use. */
  enter({ log }: ResolvedOptions): () => void {
    const member = { log };
    if (this.#members.size === 0) this.#pgque.pool.on("error", this.#onIdleError);
    this.#members.add(member);
    return () => {
      this.#members.delete(member);
      if (this.#members.size === 0) this.#pgque.pool.off("error", this.#onIdleError);
    };
  }

  /** Undefined for a worker that is not to listen. */
  waker(queue: Queue, options: ResolvedOptions, over: AbortSignal): Waker | undefined {
    return options.listen ? new Waker(this.#line, queue, options, over) : undefined;
  }

  heartbeat(options: ResolvedOptions, settler: Settler, over: AbortSignal): Heartbeat {
    const { listen, heartbeatIntervalMs } = options;
    const pulses = listen ? this.#pulses.listening : this.#pulses.others;
    const pulse =
      pulses.get(heartbeatIntervalMs) ?? new Pulse(this.#pgque, heartbeatIntervalMs, listen ? this.#line : undefined);
    pulses.set(heartbeatIntervalMs, pulse);
    return new Heartbeat(pulse, options, settler, over);
  }

  /** Maintains the queue until the worker stops; resolves when nothing is being done for it. */
  keep(queue: Queue, options: ResolvedOptions, stopping: AbortSignal): Promise<void> {
    return this.#keeper.keep(queue, options, stopping);
  }
}
