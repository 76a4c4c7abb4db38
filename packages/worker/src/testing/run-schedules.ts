import type { Pgque, Queue, Schedule } from "@pgque/client";
import { expected, refuse, time } from "@pgque/client/options";
import { sendScheduledRun } from "../schedule/scheduled-runs.ts";
import { Times } from "../schedule/times.ts";

/** Which times of which schedules `runSchedules` runs. */
export interface RunSchedulesOptions {
  /** The times up to this one, it included. At most 10000 in all. */
  until: Date;
  /** The times after this one. Default: now. */
  from?: Date | undefined;
  /** Of this schedule alone. Default: of all that are enabled. */
  name?: string | undefined;
}

/** A time of a schedule that was run. */
export interface ScheduledRun {
  name: string;
  runAt: Date;
  /** The message that was sent. */
  messageId: string;
}

const timesMax = 10_000;

/**
 * Sends what the schedules of a queue send between two times, in the order of the times, whatever the clock says: for a test that then drains the
 * queue. Nothing is recorded: workers that are started run their times as ever, and to call it twice sends twice. The role must be one that may send.
 *
 * @returns what was run, the earliest first
 * @throws PgqueError INVALID_OPTION, QUEUE_NOT_FOUND
 * @example
 * await runSchedules(pgque, reports, { until: new Date(Date.now() + 86_400_000) });
 * const { done } = await worker.drain();
 */
export async function runSchedules(pgque: Pgque, queue: Queue, options: RunSchedulesOptions): Promise<ScheduledRun[]> {
  const { until, from = new Date(), name } = options;
  refuse("runSchedules", [time("until", until), time("from", from)]);
  const schedules = (await pgque.schedules.list(queue)).filter(
    (schedule) => schedule.enabled && (name === undefined || schedule.name === name),
  );
  if (name !== undefined && schedules.length === 0)
    refuse("runSchedules", [expected("name", `an enabled schedule of queue ${queue.name}`, name)]);
  const due = schedules.flatMap((schedule) => timesBetween(schedule, from, until).map((at) => ({ schedule, at })));
  if (due.length > timesMax)
    refuse("runSchedules", [`expected at most ${timesMax} times between \`from\` and \`until\`, got: ${due.length}`]);
  due.sort((one, other) => one.at.getTime() - other.at.getTime());
  const run: ScheduledRun[] = [];
  for (const { schedule, at } of due)
    run.push({ name: schedule.name, runAt: at, messageId: await sendScheduledRun(pgque, schedule, at) });
  return run;
}

/** One more than are allowed, at most. */
function timesBetween({ cron, timeZone }: Schedule, from: Date, until: Date): Date[] {
  const times = new Times(cron, timeZone);
  const found: Date[] = [];
  let [at] = times.after(from.getTime(), 1);
  while (at !== undefined && at <= until && found.length <= timesMax) {
    found.push(at);
    [at] = times.after(at.getTime(), 1);
  }
  return found;
}
