import { PgqueError } from "@pgque/client";
import type { Clock } from "../clock.ts";
import { Notice } from "../notify/notice.ts";

/** Who waits on the clock until when. */
interface Wait {
  endsAtMs: number;
  signal: AbortSignal;
  end: () => void;
}

/**
 * A clock that stands still until it is told to go on, for the `clock` of a worker. Of several workers each may have it.
 *
 * @param start what time it is. Default: now
 * @example
 * const clock = manualClock(new Date("2030-01-01T00:00:00Z"));
 * const worker = new Worker(pgque, reports, handler, { clock, schedules: { daily: { cron: "0 8 * * *", payload: {} } } });
 * await worker.start();
 * await clock.advance(86_400_000); // it is run once, for 8:00
 */
export function manualClock(start: Date = new Date()): ManualClock {
  return new ManualClock(start);
}

/** What `manualClock` returns. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #waits = new Set<Wait>();
  /** Those whose wait is over, or who came to say that they will wait: by the signal that they wait with. */
  readonly #busy = new Set<AbortSignal>();
  readonly #changed = new Notice();
  #moving: Promise<void> = Promise.resolve();

  constructor(start: Date) {
    this.#nowMs = checked("start", start.getTime());
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#nowMs;
  }

  /**
   * Goes on by so many milliseconds. Whoever waits for a time in between is woken at that time, one time after the other, and the next comes
   * when they wait again: so no time is missed, however far it goes.
   *
   * @returns a promise that resolves when that is done, and what was to be done at these times with it: schedules are run
   */
  advance(ms: number): Promise<void> {
    return this.#move(() => this.#nowMs + checked("ms", ms));
  }

  /** Goes on to a time in the same way. To one that is past it goes back at once, and wakes everybody. */
  set(time: Date): Promise<void> {
    return this.#move(() => checked("time", time.getTime()));
  }

  /** For the worker. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      if (!this.#busy.has(signal)) signal.addEventListener("abort", () => this.#leave(signal), { once: true });
      if (ms > 0) {
        this.#waits.add({ endsAtMs: this.#nowMs + ms, signal, end: resolve });
        this.#busy.delete(signal);
      } else {
        this.#busy.add(signal);
        resolve();
      }
      this.#changed.give();
    });
  }

  #move(to: () => number): Promise<void> {
    const moved = this.#moving.then(() => this.#goTo(to()));
    this.#moving = moved.catch(() => undefined);
    return moved;
  }

  async #goTo(toMs: number): Promise<void> {
    await this.#allWait();
    this.#nowMs = Math.min(this.#nowMs, toMs);
    // what has changed since they looked is seen before time goes on
    this.#endUntil(Number.POSITIVE_INFINITY);
    for (;;) {
      await this.#allWait();
      const nextMs = Math.min(...Array.from(this.#waits, ({ endsAtMs }) => endsAtMs));
      if (nextMs > toMs) break;
      this.#nowMs = Math.max(this.#nowMs, nextMs);
      this.#endUntil(nextMs);
    }
    this.#nowMs = toMs;
  }

  #allWait(): Promise<void> {
    return this.#changed.until(() => this.#busy.size === 0);
  }

  #endUntil(timeMs: number): void {
    for (const wait of this.#waits) {
      if (wait.endsAtMs > timeMs) continue;
      this.#waits.delete(wait);
      this.#busy.add(wait.signal);
      wait.end();
    }
  }

  /** The worker stops: nobody need wait for it. */
  #leave(signal: AbortSignal): void {
    for (const wait of this.#waits) {
      if (wait.signal !== signal) continue;
      this.#waits.delete(wait);
      wait.end();
    }
    this.#busy.delete(signal);
    this.#changed.give();
  }
}

function checked(name: string, ms: number): number {
  if (Number.isFinite(ms) && (name !== "ms" || ms >= 0)) return ms;
  const what = name === "ms" ? "a number of milliseconds, 0 or more" : "a valid Date";
  throw new PgqueError("INVALID_OPTION", `expected \`${name}\` to be ${what}, got: ${ms}`);
}
