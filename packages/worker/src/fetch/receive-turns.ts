import type { Queue } from "@pgque/client";
import { Backoff } from "../connection/retry.ts";
import type { Watch } from "../health/watch.ts";
import { shared } from "../log.ts";
import { Alarm } from "../notify/alarm.ts";
import type { Notifier } from "../notify/notifier.ts";
import { WakeUps } from "../notify/wake-ups.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { Polling } from "./polling.ts";

/** A receive that takes longer has all say that they wait, who would otherwise have been answered by now. */
const longMs = 1000;

/**
 * The workers of a process that receive for the same consumer take turns: one receives, or sleeps for all of them. If each did so for itself they
 * would wait for one another's lock in the database, each message would wake all, and batches would shrink.
 */
export class ReceiveTurns {
  readonly queue: Queue;
  readonly polling: Polling;
  /** After receives that failed, whoever's they were. */
  readonly backoff = new Backoff();
  readonly options: Pick<ResolvedOptions, "queryTimeoutMs" | "log">;
  readonly #alarm = new Alarm();
  readonly #workers = new Set<Pick<ResolvedOptions, "queryTimeoutMs" | "log" | "watch">>();
  readonly #waiting = new Set<() => void>();
  readonly #over = new AbortController();
  /** Workers that have not left. */
  #receivers = 0;
  #isTaken = false;
  #isHeard = false;

  /** The first of them joins. `notifier`: undefined for workers that are not to listen. */
  constructor(notifier: Notifier | undefined, queue: Queue, ...first: Parameters<ReceiveTurns["join"]>) {
    const workers = this.#workers;
    this.queue = queue;
    this.options = {
      log: shared(() => Array.from(workers, ({ log }) => log)),
      get queryTimeoutMs() {
        return Math.min(...Array.from(workers, ({ queryTimeoutMs }) => queryTimeoutMs));
      },
    };
    this.join(...first);
    const waits = (how: "listening" | "polling"): void => this.#tell((watch) => watch.waits(how));
    this.polling = new Polling(notifier && new WakeUps(notifier, this), this.#alarm, first[0], waits);
  }

  /** A worker is there until `over` is aborted. `ended`: called when it was the last. */
  join({ queryTimeoutMs, log, watch, listen }: ResolvedOptions, over: AbortSignal, ended: () => unknown): void {
    // of a worker that starts again, another one
    const worker = { queryTimeoutMs, log, watch };
    this.#workers.add(worker);
    this.#receivers += 1;
    if (listen) watch.hears(this.#isHeard);
    // who sleeps does not do so for the one that has just come
    this.wake();
    over.addEventListener("abort", () => {
      this.#workers.delete(worker);
      if (this.#workers.size > 0) return;
      ended();
      this.#over.abort();
    });
  }

  /** A worker receives no more, though it may have messages in flight. */
  async leave(): Promise<void> {
    this.#receivers -= 1;
    if (this.#receivers === 0) await this.polling.end();
  }

  /** Resolves when it is this worker's turn, which is to end with `pass()`. False: the signal was aborted first. */
  take(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTaken: boolean): void => {
        this.#waiting.delete(begin);
        signal.removeEventListener("abort", giveUp);
        resolve(isTaken);
      };
      const begin = (): void => end(true);
      const giveUp = (): void => end(false);
      if (signal.aborted) resolve(false);
      else if (this.#isTaken) {
        this.#waiting.add(begin);
        signal.addEventListener("abort", giveUp);
      } else {
        this.#isTaken = true;
        resolve(true);
      }
    });
  }

  /** To whoever has waited longest. */
  pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#isTaken = false;
    else next();
  }

  /** A receive of the one whose turn it is. What becomes of it is said of the others too, who wait for the same database and the same lock. */
  async receiving<T>(own: Watch, receive: Promise<T>): Promise<T> {
    const begunAtMs = Date.now();
    const timer = setTimeout(() => {
      for (const { watch } of this.#workers)
        if (watch !== own) void watch.awaits("receiving", receive).catch(() => undefined);
    }, longMs);
    try {
      const received = await own.awaits("receiving", receive);
      this.#tell((watch) => {
        watch.receivedAtMs = Date.now();
        watch.answered("receiving");
      });
      return received;
    } catch (error) {
      this.#tell((watch) => watch.failed("receiving", error, begunAtMs));
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Aborted after the last worker. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** There may be something to receive. */
  wake(): void {
    this.#alarm.ring();
  }

  hears(isThere: boolean): void {
    this.#isHeard = isThere;
    this.#tell((watch) => watch.hears(isThere));
  }

  #tell(say: (watch: Watch) => void): void {
    for (const { watch } of this.#workers) say(watch);
  }
}
