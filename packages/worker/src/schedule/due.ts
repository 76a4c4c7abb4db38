import type { CatchUp, Schedule } from "@pgque/client";
import type { Times } from "./times.ts";

/** The database remembers runs for a day; a minute less, so that what is on its way to it does not become too old. */
const memoryMs = 86_400_000 - 60_000;

/** So late a time is not missed but being run: a worker may have been busy, or the database away for a failover. */
const graceMs = 10_000;

/** Another worker may have run since the clock was asked, so much later at most; what lies further ahead is from before a step back. */
const aheadMs = 5_000;

/** After a step back the times of the last minute are looked at: rounds come more often. */
const lookBackMs = 60_000;

/** Whether a schedule was run or changed at a time that the clock has not come to: it has stepped back since. */
export function isFromAhead({ changedAt, lastRunAt }: Pick<Schedule, "changedAt" | "lastRunAt">, now: Date): boolean {
  return Math.max(lastRunAt?.getTime() ?? 0, changedAt.getTime()) > now.getTime() + aheadMs;
}

/**
 * The times of a schedule that are to be run now, the earliest first: those that have just come, and of those that were missed since it
 * was changed or run last as many as it says, the latest. After a step of the clock back it goes by the last minute alone, since the change if that
 * was not ahead: nothing was missed, and what was run is not run again.
 *
 * All that this goes by is in the database: a worker that starts knows what one knows that has been running.
 */
export function dueTimes(
  times: Times,
  { catchUp, changedAt, lastRunAt }: Pick<Schedule, "catchUp" | "changedAt" | "lastRunAt">,
  now: Date,
): Date[] {
  const nowMs = now.getTime();
  const sinceMs = isFromAhead({ changedAt, lastRunAt }, now)
    ? Math.max(nowMs - lookBackMs, changedAt > now ? 0 : changedAt.getTime())
    : Math.max(lastRunAt?.getTime() ?? 0, changedAt.getTime(), nowMs - memoryMs);
  const due: Date[] = [];
  for (const at of times.back(nowMs)) {
    const isEnough = due.length >= mostOf(catchUp) && isMissed(at, now);
    if (at.getTime() <= sinceMs || isEnough) break;
    due.unshift(at);
  }
  return due;
}

/** Whether a time came so long ago that its schedule's `catchUp` decides. */
export function isMissed(at: Date, now: Date): boolean {
  return now.getTime() - at.getTime() > graceMs;
}

function mostOf(catchUp: CatchUp): number {
  if (catchUp === "skip") return 0;
  return catchUp === "once" ? 1 : catchUp.all;
}
