import { inspect } from "node:util";
import { PgqueError } from "@pgque/client";
import { Times } from "./times.ts";

/** Which of the times of a cron expression `nextRuns` is to return. */
export interface NextRunsOptions {
  /** Whose days and hours the expression means, "Europe/Berlin". Default: UTC. */
  timeZone?: string | undefined;
  /** The times after this one. Default: now. */
  from?: Date | undefined;
  /** How many. 1 to 10000. Default: 5. */
  count?: number | undefined;
}

/**
 * When a schedule with this cron expression will run: to look at before it is set, or to check what a person has typed. Where clocks
 * change, a time that does not exist comes at the end of the gap, and one that comes twice counts the first time, unless a field of hours,
 * minutes or seconds has `*` or `/`: then what does not exist is left out, and what comes twice runs twice.
 *
 * @param cron five fields, six with seconds, or a name: @hourly, @daily, @weekly, @monthly, @yearly
 * @returns whole seconds, the earliest first; fewer than `count` when there are no more
 * @throws PgqueError INVALID_OPTION which says what is wrong with the expression, the zone or an option
 * @example
 * const [first] = nextRuns("30 2 * * MON-FRI", { timeZone: "Europe/Berlin", count: 1 });
 */
export function nextRuns(cron: string, options: NextRunsOptions = {}): Date[] {
  const { timeZone = "UTC", from = new Date(), count = 5 } = options;
  if (!(from instanceof Date) || Number.isNaN(from.getTime())) refuse("from", "a valid Date", from);
  if (!Number.isSafeInteger(count) || count < 1 || count > 10_000) refuse("count", "an integer from 1 to 10000", count);
  return new Times(cron, timeZone).after(from.getTime(), count);
}

function refuse(name: string, expected: string, value: unknown): never {
  const problem = `expected \`${name}\` to be ${expected}, got: ${inspect(value, { depth: 0, maxStringLength: 80 })}`;
  throw new PgqueError("INVALID_OPTION", `nextRuns: ${problem}`, { details: { problems: [problem] } });
}
