import { isPgqueError, type Pgque, type Queue, type Schedule } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import { systemClock } from "../clock.ts";
import type { WorkerEvents } from "../events/worker-events.ts";
import type { Logger } from "../log.ts";
import type { ResolvedOptions } from "../options.ts";
import { retry } from "../connection/retry.ts";
import { isFromAhead, isMissed } from "./due.ts";
import { type Ask, ownFirings, sharedFirings, type Firings } from "./firings.ts";
import { Plan } from "./plan.ts";

/** How soon a schedule that somebody else has set is noticed, at the latest. */
const rereadMs = 30_000;

/** Workers come to a time within so long of each other: most find that it has been fired, and ask for no more. */
const spreadMs = 100;

/** A clock that is set by hand is not asked when nothing is due: whoever sets it has schedules read anew. */
const dayMs = 86_400_000;

/** Fires the schedules of a queue as their times come, until it is stopped. Every worker does; of all of them one sends. */
export async function startScheduler(
  pgque: Pgque,
  queue: Queue,
  options: Pick<ResolvedOptions, "log" | "clock" | "watch" | "queryTimeoutMs">,
  stopping: AbortSignal,
): Promise<void> {
  const { log, clock, watch } = options;
  const isShared = clock === systemClock;
  // one connection that has gone silent is not to keep all schedules waiting
  const ask: Ask = (call) => watch.awaits("scheduling", answered(options.queryTimeoutMs, call));
  const firings = isShared ? sharedFirings(pgque, queue, ask) : ownFirings(pgque, queue, clock, ask);
  const scheduler = new Scheduler(queue, log, firings, (fired) => watch.events.emit("fired", () => fired));
  // a clock that is set by hand knows from now on for whom it has to wait
  if (!isShared) await clock.wait(0, stopping);
  const round = async () => {
    const waitMs = await scheduler.round(await firings.now(), stopping);
    return isShared ? waitMs + Math.random() * spreadMs : waitMs;
  };
  return retry("scheduling", isShared ? rereadMs : dayMs, options, stopping, round, (ms, signal) =>
    clock.wait(ms, signal),
  );
}

/** An expression that has been read. Without a plan it is no use, which has been said. */
interface Known {
  cron: string;
  timeZone: string;
  plan: Plan | undefined;
}

/** Works in rounds. Each goes by the clock and the schedules of its firings as they are then; from the one before it has expressions that it has read. */
export class Scheduler {
  readonly #queue: Queue;
  readonly #log: Logger;
  readonly #firings: Firings;
  readonly #fired: (fired: WorkerEvents["fired"]) => void;
  #known = new Map<string, Known>();
  /** Schedules of which it has been said that the clock has stepped back. */
  #ahead = new Set<string>();

  /** `fired` is told of each firing that sent. */
  constructor(
    queue: Queue,
    log: Logger,
    firings: Firings,
    fired: (fired: WorkerEvents["fired"]) => void = () => undefined,
  ) {
    this.#queue = queue;
    this.#log = log;
    this.#firings = firings;
    this.#fired = fired;
  }

  /**
   * Fires what is due.
   *
   * @param now by the clock that firings go by
   * @returns in how many milliseconds the next time comes; 0 after firing, which takes time; Infinity: nothing is scheduled
   */
  async round(now: Date, stopping: AbortSignal): Promise<number> {
    const schedules = await this.#firings.schedules();
    this.#known = new Map(schedules.map((schedule) => [schedule.name, this.#read(schedule)]));
    this.#sayAhead(schedules, now);
    const planned = schedules.flatMap((schedule) => {
      const plan = this.#known.get(schedule.name)?.plan;
      return plan === undefined || !schedule.enabled ? [] : [{ plan, schedule, due: plan.due(schedule, now) }];
    });
    // one that has much to make good does not hold up the others
    planned.sort((one, other) => one.due.length - other.due.length);
    let hasFired = false;
    for (const { schedule, due } of planned) if (await this.#fireAll(schedule, due, now, stopping)) hasFired = true;
    return hasFired ? 0 : Math.min(...planned.map(({ plan }) => plan.waitMs(now)));
  }

  /** Once for each step. */
  #sayAhead(schedules: readonly Schedule[], now: Date): void {
    const ahead = schedules.filter((schedule) => isFromAhead(schedule, now));
    for (const { name, lastFiredAt } of ahead) {
      if (this.#ahead.has(name)) continue;
      const about = { queue: this.#queue.name, schedule: name, lastFiredAt, now };
      this.#log.warn("schedule was fired or changed in the future: the database's clock has stepped back", about);
    }
    this.#ahead = new Set(ahead.map(({ name }) => name));
  }

  #read(schedule: Schedule): Known {
    const { name, cron, timeZone } = schedule;
    const known = this.#known.get(name);
    if (known?.cron === cron && known.timeZone === timeZone) return known;
    try {
      return { cron, timeZone, plan: new Plan(schedule) };
    } catch (error) {
      const about = { queue: this.#queue.name, schedule: name };
      this.#log.error("schedule cannot be fired, set it anew", { ...about, error });
      return { cron, timeZone, plan: undefined };
    }
  }

  /**
   * Whether anything was fired that the next round will not see as due. The earliest first, so that another worker can go on where this one ends.
   */
  async #fireAll(schedule: Schedule, due: Date[], now: Date, stopping: AbortSignal): Promise<boolean> {
    let hasFired = false;
    for (const at of due) {
      const fired = stopping.aborted ? "refused" : await this.#fire(schedule, at, now);
      if (fired === "refused") break;
      if (fired === "sent" || !isFromAhead(schedule, now)) hasFired = true;
    }
    return hasFired;
  }

  /** Refused: by the database, for reasons of this schedule alone. */
  async #fire(schedule: Schedule, at: Date, now: Date): Promise<"sent" | "sent before" | "refused"> {
    const about = { queue: this.#queue.name, schedule: schedule.name, fireAt: at.toISOString() };
    try {
      const id = await this.#firings.fire(schedule, at);
      if (id === null) this.#log.debug("schedule was fired by another worker", about);
      else if (isMissed(at, now))
        this.#log.info("schedule fired for a time that was missed", { ...about, message: id });
      else this.#log.debug("schedule fired", { ...about, message: id });
      if (id !== null) this.#fired({ schedule: schedule.name, at, messageId: id });
      return id === null ? "sent before" : "sent";
    } catch (error) {
      if (!isPgqueError(error) || !ofOneSchedule.has(error.code)) throw error;
      this.#log.error("schedule could not be fired, will try again", { ...about, error });
      return "refused";
    }
  }
}

/** It was removed a moment ago, its queue has become stricter, or it is not for this role. */
const ofOneSchedule = new Set(["INVALID_ARGUMENT", "ACCESS_DENIED"]);
