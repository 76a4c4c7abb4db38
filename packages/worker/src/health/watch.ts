import { Events } from "../events/events.ts";
import type { Part } from "../events/worker-events.ts";
import type { Logger } from "../log.ts";

/** A part that is not answered. */
export interface Failing {
  part: Part;
  sinceMs: number;
  error: unknown;
}

/** What is waited for: the answer to a part, a pool's connection for a handler's transaction. */
export type Awaited = Part | "connection";

/** What the parts of a worker say of themselves: kept for `health()`, and told to listeners. */
export class Watch {
  readonly events: Events;
  /** Times are those of `Date.now()`. */
  receivedAtMs: number | undefined;
  heartbeatAtMs: number | undefined;
  /** How it waits while there is nothing; undefined until it first had nothing to do. */
  waiting: "listening" | "polling" | undefined;
  readonly #log: Logger;
  readonly #failing = new Map<Part, Failing>();
  readonly #ended = new Map<Part, unknown>();
  readonly #awaited = new Set<{ what: Awaited; sinceMs: number }>();
  /** Who keeps it from receiving, in words; undefined: nobody is known to. */
  blockedBy: string | undefined;
  /** Since when the connection is missing on which it is to be woken; undefined: it is there, or is not to be. */
  deafSinceMs: number | undefined;

  constructor(log: Logger, events: Events = new Events(log)) {
    this.#log = log;
    this.events = events;
  }

  /** Parts that are not answered. */
  get failing(): readonly Failing[] {
    return [...this.#failing.values()];
  }

  /** Parts that have ended though nobody stopped them, and why. */
  get ended(): ReadonlyMap<Part, unknown> {
    return this.#ended;
  }

  /** Since when each has been waited for that is waited for just now, the longest of each. */
  get awaited(): ReadonlyMap<Awaited, number> {
    const longest = new Map<Awaited, number>();
    // in the order in which they were begun
    for (const { what, sinceMs } of this.#awaited) if (!longest.has(what)) longest.set(what, sinceMs);
    return longest;
  }

  /** Notes that it is waited for. */
  async awaits<T>(what: Awaited, answer: Promise<T>): Promise<T> {
    const awaited = { what, sinceMs: Date.now() };
    this.#awaited.add(awaited);
    try {
      return await answer;
    } finally {
      this.#awaited.delete(awaited);
    }
  }

  /** Whether the connection is there on which it is woken, or nothing would be heard on it anyway. */
  hears(isThere: boolean): void {
    this.deafSinceMs = isThere ? undefined : (this.deafSinceMs ?? Date.now());
  }

  /** A worker that starts again has nothing to do with what was. */
  begin(): void {
    this.#failing.clear();
    this.#ended.clear();
    this.receivedAtMs = undefined;
    this.heartbeatAtMs = undefined;
    this.waiting = undefined;
    this.deafSinceMs = undefined;
    this.blockedBy = undefined;
  }

  received(count: number): void {
    this.receivedAtMs = Date.now();
    this.blockedBy = undefined;
    this.answered("receiving");
    this.events.emit("received", () => ({ count }));
  }

  heartbeat(): void {
    this.heartbeatAtMs = Date.now();
  }

  waits(how: "listening" | "polling"): void {
    if (this.waiting === how) return;
    this.waiting = how;
    this.events.emit(how, () => ({}));
  }

  answered(part: Part): void {
    const failing = this.#failing.get(part);
    if (failing === undefined) return;
    this.#failing.delete(part);
    this.events.emit("databaseRecovered", () => ({ part, lostForMs: Date.now() - failing.sinceMs }));
  }

  /** `begunAtMs`: when the call began that failed. */
  failed(part: Part, error: unknown, begunAtMs: number = Date.now()): void {
    const sinceMs = this.#failing.get(part)?.sinceMs;
    this.#failing.set(part, { part, sinceMs: sinceMs ?? begunAtMs, error });
    if (sinceMs === undefined) this.events.emit("databaseLost", () => ({ part, error }));
  }

  /**
   * Notes and logs when a loop fails, or ends before the signal is aborted: no error of the database does that, only a bug. What is returned
   * ends with the loop and never rejects, so that the rest of the worker can be stopped as ever.
   */
  async loop(part: Part, running: Promise<unknown>, stopping: AbortSignal): Promise<void> {
    let error: unknown;
    try {
      await running;
      if (stopping.aborted) return;
    } catch (thrown) {
      error = thrown;
    }
    this.#ended.set(part, error);
    this.#log.error(`${part} has ended, the worker has to be started anew`, { error });
  }
}

/** Who hears whether a part is answered. */
export type Answers = Pick<Watch, "answered" | "failed">;

/** Tells what is about several workers to each. `of`: those of just then. */
export function answersOf(of: () => Iterable<Watch>): Answers {
  return {
    answered: (part) => {
      for (const watch of of()) watch.answered(part);
    },
    failed: (part, error) => {
      for (const watch of of()) watch.failed(part, error);
    },
  };
}
