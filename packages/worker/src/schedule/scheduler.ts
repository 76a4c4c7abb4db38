import { isPgqueError, type Pgque, type Queue, type Schedule } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import { systemClock } from "../clock.ts";
import type { WorkerEvents } from "../events/worker-events.ts";
import type { Logger } from "../log.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { retry } from "../connection/retry.ts";
import { isFromAhead, isMissed } from "./due.ts";
import { type Ask, ownRuns, sharedRuns, type ScheduledRuns } from "./scheduled-runs.ts";
import { Plan } from "./plan.ts";

/** How soon a schedule that somebody else has set is noticed, at the latest. */
const rereadMs = 30_000;

/** Workers come to a time within so long of each other: most find that it has been run, and ask for no more. */
const spreadMs = 100;

/** A clock that is set by hand is not asked when nothing is due: whoever sets it has schedules read anew. */
const dayMs = 86_400_000;

/** Runs the schedules of a queue as their times come, until it is stopped. Every worker does; of all of them one sends. */
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
  const runs = isShared ? sharedRuns(pgque, queue, ask) : ownRuns(pgque, queue, clock, ask);
  const scheduler = new Scheduler(queue, log, runs, (run) => watch.events.emit("scheduleRun", () => run));
  // a clock that is set by hand knows from now on for whom it has to wait
  if (!isShared) await clock.wait(0, stopping);
  const round = async () => {
    const waitMs = await scheduler.round(() => runs.now(), stopping);
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

/** Works in rounds. Each goes by the clock and the schedules of its runs as they are then; from the one before it has expressions that it has read. */
export class Scheduler {
  readonly #queue: Queue;
  readonly #log: Logger;
  readonly #runs: ScheduledRuns;
  readonly #emitRun: (run: WorkerEvents["scheduleRun"]) => void;
  #known = new Map<string, Known>();
  /** Schedules of which it has been said that the clock has stepped back. */
  #ahead = new Set<string>();

  /** `run` is told of each scheduled run that sent. */
  constructor(
    queue: Queue,
    log: Logger,
    runs: ScheduledRuns,
    run: (run: WorkerEvents["scheduleRun"]) => void = () => undefined,
  ) {
    this.#queue = queue;
    this.#log = log;
    this.#runs = runs;
    this.#emitRun = run;
  }

  /**
   * Runs what is due.
   *
   * @param clock what runs go by. It is asked after the schedules: to who was halted in between, a run of others must not be one from ahead
   * @returns in how many milliseconds the next time comes; 0 after a run, which takes time; Infinity: nothing is scheduled
   */
  async round(clock: () => Promise<Date>, stopping: AbortSignal): Promise<number> {
    const schedules = await this.#runs.schedules();
    const now = await clock();
    this.#known = new Map(schedules.map((schedule) => [schedule.name, this.#read(schedule)]));
    this.#sayAhead(schedules, now);
    const planned = schedules.flatMap((schedule) => {
      const plan = this.#known.get(schedule.name)?.plan;
      return plan === undefined || !schedule.enabled ? [] : [{ plan, schedule, due: plan.due(schedule, now) }];
    });
    // one that has much to make good does not hold up the others
    planned.sort((one, other) => one.due.length - other.due.length);
    let hasRun = false;
    for (const { schedule, due } of planned) if (await this.#runAll(schedule, due, now, stopping)) hasRun = true;
    return hasRun ? 0 : Math.min(...planned.map(({ plan }) => plan.waitMs(now)));
  }

  /** Once for each step. */
  #sayAhead(schedules: readonly Schedule[], now: Date): void {
    const ahead = schedules.filter((schedule) => isFromAhead(schedule, now));
    for (const { name, lastRunAt } of ahead) {
      if (this.#ahead.has(name)) continue;
      const about = { queue: this.#queue.name, schedule: name, lastRunAt, now };
      this.#log.warn("schedule was run or changed in the future: the database's clock has stepped back", about);
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
      this.#log.error("schedule cannot be run, set it anew", { ...about, error });
      return { cron, timeZone, plan: undefined };
    }
  }

  /**
   * Whether anything was run that the next round will not see as due. The earliest first, so that another worker can go on where this one ends.
   */
  async #runAll(schedule: Schedule, due: Date[], now: Date, stopping: AbortSignal): Promise<boolean> {
    let hasRun = false;
    for (const at of due) {
      const run = stopping.aborted ? "refused" : await this.#run(schedule, at, now);
      if (run === "refused") break;
      if (run === "sent" || !isFromAhead(schedule, now)) hasRun = true;
    }
    return hasRun;
  }

  /** Refused: by the database, for reasons of this schedule alone. */
  async #run(schedule: Schedule, at: Date, now: Date): Promise<"sent" | "sent before" | "refused"> {
    const about = { queue: this.#queue.name, schedule: schedule.name, runAt: at.toISOString() };
    try {
      const id = await this.#runs.run(schedule, at);
      if (id === null) this.#log.debug("schedule was run by another worker", about);
      else if (isMissed(at, now)) this.#log.info("schedule run for a time that was missed", { ...about, message: id });
      else this.#log.debug("schedule run", { ...about, message: id });
      if (id !== null) this.#emitRun({ schedule: schedule.name, at, messageId: id });
      return id === null ? "sent before" : "sent";
    } catch (error) {
      if (!isPgqueError(error) || !ofOneSchedule.has(error.code)) throw error;
      this.#log.error("schedule could not be run, will try again", { ...about, error });
      return "refused";
    }
  }
}

/** It was removed a moment ago, its queue has become stricter, or it is not for this role. */
const ofOneSchedule = new Set(["INVALID_ARGUMENT", "ACCESS_DENIED"]);
