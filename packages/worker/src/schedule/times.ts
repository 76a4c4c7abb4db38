import { PgqueError } from "@pgque/client";
import { expected } from "@pgque/client/options";
import { Cron, type CronOptions } from "croner";

/** Names for expressions that everybody writes. `@reboot` is none of them: a queue does not boot. */
const nicknames = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]);

/**
 * What a list or range of hours does when clocks change is what a single hour does: as in Vixie cron. By the library's default
 * `0 2,14 * * *` would come twice in the night in which 2:00 does.
 */
const options: CronOptions = { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard", paused: true };

/** The times that a cron expression names in a time zone, whole seconds. Nothing else knows the library. */
export class Times {
  readonly #cron: Cron;

  /** @throws PgqueError INVALID_OPTION which says what is wrong with the expression or the zone */
  constructor(cron: unknown, timeZone: unknown) {
    if (!isTimeZone(timeZone)) refuse("timeZone", 'a time zone that Node.js knows, such as "Europe/Berlin"', timeZone);
    if (!isExpression(cron)) refuse("cron", "five fields, six with seconds, or a name such as @daily", cron);
    this.#cron = parse(cron, timeZone);
    if (this.after(Date.now(), 1).length === 0) refuse("cron", "an expression whose time comes", cron);
  }

  /** The next times after this one; fewer when there are no more. */
  after(ms: number, count: number): Date[] {
    return this.#cron.nextRuns(count, new Date(ms));
  }

  /** The times up to this one, it included, the latest first, for as long as they are asked for. */
  *back(ms: number): Generator<Date> {
    let [at] = this.#cron.previousRuns(1, new Date(ms + 1));
    while (at !== undefined) {
      yield at;
      [at] = this.#cron.previousRuns(1, at);
    }
  }
}

function parse(cron: string, timezone: string): Cron {
  try {
    return new Cron(cron, { ...options, timezone });
  } catch (cause) {
    const why = (cause as Error).message.replace(/^CronPattern: /, "");
    return refuse("cron", "a cron expression", cron, ` (${why})`, cause);
  }
}

/** Five or six words: what has the form of a date would be taken for a single time. */
function isExpression(cron: unknown): cron is string {
  if (typeof cron !== "string") return false;
  const words = cron.trim().split(/\s+/);
  return words.length === 5 || words.length === 6 || nicknames.has(cron.trim().toLowerCase());
}

function isTimeZone(timeZone: unknown): timeZone is string {
  if (typeof timeZone !== "string") return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function refuse(name: string, what: string, value: unknown, why: string = "", cause?: unknown): never {
  const problem = `${expected(name, what, value)}${why}`;
  throw new PgqueError("INVALID_OPTION", problem, { details: { problems: [problem] }, cause });
}
