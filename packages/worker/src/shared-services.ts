import type { Pgque, Queue } from "@pgque/client";
import { ReceiveTurns } from "./fetch/receive-turns.ts";
import { Heartbeat } from "./lease/heartbeat.ts";
import { Maintainer } from "./maintain/maintainer.ts";
import { type CancelListener, Notifier } from "./notify/notifier.ts";
import { shared } from "./log.ts";
import type { ResolvedOptions } from "./resolve-options.ts";
import { Heartbeater } from "./lease/heartbeater.ts";
import type { Settler } from "./settle/settler.ts";

/** One for each, for as long as it is used. */
const all = new WeakMap<Pgque, SharedServices>();

/**
 * What the workers of one `Pgque` share: the connection on which they listen, the heartbeats, the upkeep of their queues. Each is begun by the
 * first worker that needs it and ends with the last.
 */
export class SharedServices {
  readonly #pgque: Pgque;
  readonly #notifier: Notifier;
  readonly #maintainer: Maintainer;
  /** Of workers that listen, and of those that do not, by their interval. */
  readonly #heartbeaters = { listening: new Map<number, Heartbeater>(), others: new Map<number, Heartbeater>() };
  /** By all that has to be the same. */
  readonly #receiveTurns = new Map<string, ReceiveTurns>();
  readonly #members = new Set<Pick<ResolvedOptions, "log">>();
  readonly #log = shared(() => Array.from(this.#members, ({ log }) => log));
  /** An idle connection that breaks is replaced at the next use. A pool of the application's with nobody to hear of it would end the process. */
  readonly #onIdleError = (error: Error): void => this.#log.debug("an idle connection is lost", { error });

  private constructor(pgque: Pgque) {
    this.#pgque = pgque;
    this.#maintainer = new Maintainer(pgque);
    this.#notifier = new Notifier(pgque, () => {
      for (const heartbeater of this.#heartbeaters.listening.values()) heartbeater.sessionChanged();
    });
  }

  static of(pgque: Pgque): SharedServices {
    const services = all.get(pgque) ?? new SharedServices(pgque);
    all.set(pgque, services);
    return services;
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

  /** Shared with the workers that receive for the same consumer, and wait in the same way. */
  receiveTurns(queue: Queue, options: ResolvedOptions, over: AbortSignal): ReceiveTurns {
    const { consumer, listen, fallbackPollMs, pollMinMs, pollMaxMs } = options;
    const key = JSON.stringify([queue.name, consumer, listen, fallbackPollMs, pollMinMs, pollMaxMs]);
    const ended = (): unknown => this.#receiveTurns.delete(key);
    const joined = this.#receiveTurns.get(key);
    joined?.join(options, over, ended);
    const turns = joined ?? new ReceiveTurns(listen ? this.#notifier : undefined, queue, options, over, ended);
    this.#receiveTurns.set(key, turns);
    return turns;
  }

  heartbeat(options: ResolvedOptions, settler: Settler, over: AbortSignal): Heartbeat {
    const { listen, heartbeatIntervalMs } = options;
    const heartbeaters = listen ? this.#heartbeaters.listening : this.#heartbeaters.others;
    const heartbeater =
      heartbeaters.get(heartbeatIntervalMs) ??
      new Heartbeater(this.#pgque, heartbeatIntervalMs, listen ? this.#notifier : undefined);
    heartbeaters.set(heartbeatIntervalMs, heartbeater);
    return new Heartbeat(heartbeater, options, settler, over);
  }

  /** Tells of the messages in hand that were cancelled, where notifications arrive. */
  joinCancelled(listener: CancelListener, over: AbortSignal): void {
    this.#notifier.joinCancelled(listener, over);
  }

  /** Maintains the queue until the worker stops; resolves when nothing is being done for it. */
  keep(queue: Queue, options: ResolvedOptions, stopping: AbortSignal): Promise<void> {
    return this.#maintainer.keep(queue, options, stopping);
  }
}
