import type { Pgque, Queue, Schedule } from "@pgque/client";
import type { Clock } from "../clock.ts";

/** Where a scheduler reads the schedules of its queue and the time, and runs. */
export interface ScheduledRuns {
  /** The time that schedules are run by. */
  now(): Promise<Date>;
  schedules(): Promise<Schedule[]>;
  /** Sends the message of a schedule for one of its times. Null: somebody has done so. */
  run(schedule: Schedule, at: Date): Promise<string | null>;
}

/** Asks the database; its answer may take so long and no longer. */
export type Ask = <T>(call: (signal?: AbortSignal) => Promise<T>) => Promise<T>;

const patiently: Ask = (call) => call();

/** By the database's clock, and each time once, whoever asks: what every worker does. */
export function sharedRuns(pgque: Pgque, queue: Queue, ask: Ask = patiently): ScheduledRuns {
  return {
    now: () => ask((signal) => pgque.runtime.now({ signal })),
    schedules: () => ask((signal) => pgque.schedules.list(queue, { signal })),
    run: ({ name }, at) => ask((signal) => pgque.schedules.run(name, at, { signal })),
  };
}

/**
 * By another clock. The database runs for no time that its own clock does not know as just past, so the messages are sent, and what was run
 * is remembered here alone. What counts as missed begins when this was made, or when a schedule that was set later was first seen.
 */
export function ownRuns(pgque: Pgque, queue: Queue, clock: Clock, ask: Ask = patiently): ScheduledRuns {
  const lastRuns = new Map<string, Date>();
  const seen = new Map<string, Date>();
  const madeAt = new Date(clock.now());
  let isFirst = true;
  return {
    now: async () => new Date(clock.now()),
    schedules: async () => {
      const since = isFirst ? madeAt : new Date(clock.now());
      isFirst = false;
      const schedules = await ask((signal) => pgque.schedules.list(queue, { signal }));
      return schedules.map((schedule) => {
        const { name, changedAt } = schedule;
        const version = `${changedAt.getTime()} ${name}`;
        const seenAt = seen.get(version) ?? since;
        seen.set(version, seenAt);
        return { ...schedule, changedAt: seenAt, lastRunAt: lastRuns.get(name) ?? null };
      });
    },
    run: async (schedule, at) => {
      const id = await ask((signal) => sendScheduledRun(pgque, schedule, at, signal));
      lastRuns.set(schedule.name, at);
      return id;
    },
  };
}

/** Sends the message of a schedule as a scheduled run does, with its headers, and records nothing. */
export async function sendScheduledRun(
  pgque: Pgque,
  schedule: Schedule,
  at: Date,
  signal?: AbortSignal,
): Promise<string> {
  const { name, queue, type, payload, headers, priority, key } = schedule;
  // by name: the payload was checked when the schedule was set, and is what is sent
  const { id } = await pgque.send(queue, payload, {
    type,
    headers: { ...headers, schedule: name, run_at: at.toISOString().replace(/\.\d+Z$/, "Z") },
    signal,
    ...(priority !== null && { priority }),
    ...(key !== null && { key }),
  });
  return id;
}
