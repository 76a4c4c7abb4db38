import type { Pgque, Queue, Schedule } from "@pgque/client";
import type { Clock } from "../clock.ts";

/** Where a scheduler reads the schedules of its queue and the time, and fires. */
export interface Firings {
  /** The time that schedules are fired by. */
  now(): Promise<Date>;
  schedules(): Promise<Schedule[]>;
  /** Sends the message of a schedule for one of its times. Null: somebody has done so. */
  fire(schedule: Schedule, at: Date): Promise<bigint | null>;
}

/** Asks the database; its answer may take so long and no longer. */
export type Ask = <T>(call: (signal?: AbortSignal) => Promise<T>) => Promise<T>;

const patiently: Ask = (call) => call();

/** By the database's clock, and each time once, whoever asks: what every worker does. */
export function sharedFirings(pgque: Pgque, queue: Queue, ask: Ask = patiently): Firings {
  return {
    now: () => ask((signal) => pgque.runtime.now({ signal })),
    schedules: () => ask((signal) => pgque.schedules.list(queue, { signal })),
    fire: ({ name }, at) => ask((signal) => pgque.schedules.fire(name, at, { signal })),
  };
}

/**
 * By another clock. The database fires for no time that its own clock does not know as just past, so the messages are sent, and what was fired
 * is remembered here alone. What counts as missed begins when this was made, or when a schedule that was set later was first seen.
 */
export function ownFirings(pgque: Pgque, queue: Queue, clock: Clock, ask: Ask = patiently): Firings {
  const firedAt = new Map<string, Date>();
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
        return { ...schedule, changedAt: seenAt, lastFiredAt: firedAt.get(name) ?? null };
      });
    },
    fire: async (schedule, at) => {
      const id = await ask((signal) => sendFiring(pgque, schedule, at, signal));
      firedAt.set(schedule.name, at);
      return id;
    },
  };
}

/** Sends the message of a schedule as a firing does, with its headers, and records nothing. */
export async function sendFiring(pgque: Pgque, schedule: Schedule, at: Date, signal?: AbortSignal): Promise<bigint> {
  const { name, queue, type, payload, headers, priority, key } = schedule;
  // by name: the payload was checked when the schedule was set, and is what is sent
  return pgque.send(queue, payload, {
    type,
    headers: { ...headers, schedule: name, fire_at: at.toISOString().replace(/\.\d+Z$/, "Z") },
    signal,
    ...(priority !== null && { priority }),
    ...(key !== null && { key }),
  });
}
