import {
  completed,
  integer,
  problemsOf,
  refuse,
  text,
  time,
  type OptionsOf,
  type OptionTable,
} from "@pgque/client/options";
import { Times } from "./times.ts";

const nextRunsOptions = {
  /** Whose days and hours the expression means, "Europe/Berlin". Default: UTC. */
  timeZone: { check: text, default: "UTC", help: "whose days and hours are meant" },
  /** The times after this one. Default: now. */
  from: { check: time, absent: "now", help: "the times after this one" },
  /** How many. 1 to 10000. Default: 5. */
  count: { check: integer(1, 10_000), default: 5, help: "so many times" },
} satisfies OptionTable;

/** Which of the times of a cron expression `nextRuns` is to return. */
export interface NextRunsOptions extends OptionsOf<typeof nextRunsOptions> {}

/**
 * When a schedule with this cron expression will run: to look at before it is set, or to check what a person has typed. Where clocks
 * change, a time that does not exist comes at the end of the gap, and one that comes twice counts the first time, unless a field of hours,
 * minutes or seconds has `*` or `/`: then what does not exist is left out, and what comes twice runs twice.
 *
 * @param cron five fields, six with seconds, or a name: `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`
 * @returns whole seconds, the earliest first; fewer than `count` when there are no more
 * @throws PgqueError INVALID_OPTION which says what is wrong with the expression, the zone or an option
 * @example
 * const [first] = nextRuns("30 2 * * MON-FRI", { timeZone: "Europe/Berlin", count: 1 });
 */
export function nextRuns(cron: string, options: NextRunsOptions = {}): Date[] {
  refuse("nextRuns", problemsOf(options, nextRunsOptions));
  const { timeZone, from = new Date(), count } = completed(options, nextRunsOptions);
  return new Times(cron, timeZone).after(from.getTime(), count);
}
