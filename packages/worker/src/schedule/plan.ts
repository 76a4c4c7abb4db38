import type { Schedule } from "@pgque/client";
import { dueTimes } from "./due.ts";
import { Times } from "./times.ts";

/** A schedule whose expression has been read. Until the next of its times comes, asking it costs nothing. */
export class Plan {
  readonly #times: Times;
  /** In this time nothing is due: the end is the next of its times. To run or change a schedule makes no earlier time due. */
  #quiet = { fromMs: 0, toMs: 0 };

  /** @throws PgqueError INVALID_OPTION when the expression is no use */
  constructor({ cron, timeZone }: Schedule) {
    this.#times = new Times(cron, timeZone);
  }

  /** What of it is to be run now. `schedule`: as it is stored now, with the same expression. */
  due(schedule: Schedule, now: Date): Date[] {
    const nowMs = now.getTime();
    if (this.#isQuiet(nowMs)) return [];
    const due = dueTimes(this.#times, schedule, now);
    if (due.length === 0) this.#quiet = { fromMs: nowMs, toMs: this.#nextMs(nowMs) };
    return due;
  }

  /** In how many milliseconds the next of its times comes; Infinity: never again. */
  waitMs(now: Date): number {
    const nowMs = now.getTime();
    return (this.#isQuiet(nowMs) ? this.#quiet.toMs : this.#nextMs(nowMs)) - nowMs;
  }

  /** Not when the clock was set back. */
  #isQuiet(nowMs: number): boolean {
    return this.#quiet.fromMs <= nowMs && nowMs < this.#quiet.toMs;
  }

  #nextMs(nowMs: number): number {
    return this.#times.after(nowMs, 1)[0]?.getTime() ?? Number.POSITIVE_INFINITY;
  }
}
