import { PgqueError } from "@pgque/client";
import type { DeclaredSchedule } from "../schedule/declared.ts";
import { Times } from "../schedule/times.ts";
import { catchUpMax, readOptions, type CrontabOptions } from "./crontab-options.ts";
import { Line, Misread } from "./line.ts";

/** A line of a crontab: what a worker of its queue is given as `schedules: { [name]: schedule }`. */
export interface CrontabEntry {
  /** Where it stands, from 1. */
  line: number;
  /** Of the schedule: the option `id`, or that of the queue. */
  name: string;
  queue: string;
  schedule: DeclaredSchedule;
}

/**
 * Reads a crontab in the form that graphile-worker has: `<time> <queue> [?options] [payload]`, a schedule on each line.
 *
 * - time: five fields, six with seconds, or a name such as @daily. A sixth word that begins with a digit, `*` or a weekday is a field
 * - queue: a word; in double quotes, as JSON, one with spaces or that looks like a field
 * - options: as in a URL, `?id=nightly&timeZone=Europe/Berlin`: id, timeZone, missed (skip, once, all:N), fill (a period: 4h30m), type, priority, key
 * - payload: JSON; `{}` when there is none
 *
 * @throws PgqueError INVALID_OPTION with everything that is wrong, by line and column
 * @example
 * for (const { name, schedule } of parseCrontab("0 3 * * * reports ?id=nightly {\"kind\": \"daily\"}")) console.log(name, schedule.cron);
 */
export function parseCrontab(text: string): CrontabEntry[] {
  const entries: CrontabEntry[] = [];
  const problems: string[] = [];
  for (const [i, content] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(content)) continue;
    try {
      const entry = readLine(new Line(content), i + 1);
      const other = entries.find(({ name }) => name === entry.name);
      if (other !== undefined) throw new Misread(1, twice(entry.name, other.line));
      entries.push(entry);
    } catch (error) {
      if (!(error instanceof Misread)) throw error;
      problems.push(`line ${i + 1}, column ${error.column}: ${error.message}`);
    }
  }
  if (problems.length === 0) return entries;
  throw new PgqueError("INVALID_OPTION", `crontab: ${problems.join("; ")}`, { details: { problems } });
}

const twice = (name: string, line: number): string =>
  `expected a name of its own, got: ${JSON.stringify(name)}, as on line ${line}; name it with ?id=…`;

function readLine(line: Line, number: number): CrontabEntry {
  const time = readTime(line);
  const queue = line.name("a queue after the time");
  const options = line.skip("?") ? readOptions(line) : new Map();
  const payload = line.rest("payload");
  const { id = queue, ...schedule } = scheduled(time, options);
  return { line: number, name: id, queue, schedule: { ...schedule, payload } };
}

/** A time as it is written, and where. */
interface Written {
  column: number;
  text: string;
}

const sixthField = /^([\d*]|(SUN|MON|TUE|WED|THU|FRI|SAT)\b)/i;

function readTime(line: Line): Written {
  const expected = "a time of five fields, six with seconds, or a name such as @daily";
  const first = line.word(expected);
  if (first.text.startsWith("@")) return first;
  const fields = [first.text];
  while (fields.length < 5) fields.push(line.word(expected).text);
  if (line.nextIs(sixthField)) fields.push(line.word(expected).text);
  return { column: first.column, text: fields.join(" ") };
}

/** Tries the time, in the zone that the options name, and turns a `fill` into a number of times. */
function scheduled(
  time: Written,
  read: CrontabOptions,
): { id?: string; cron: string } & Omit<DeclaredSchedule, "payload"> {
  const { fill, ...options } = Object.fromEntries(Array.from(read, ([name, { value }]) => [name, value]));
  try {
    const times = new Times(time.text, options["timeZone"] ?? "UTC");
    const catchUp = fill === undefined ? {} : { catchUp: { all: mostWithin(times, Number(fill)) } };
    return { ...options, ...catchUp, cron: time.text };
  } catch (error) {
    const { message } = error as Error;
    const column = message.includes("`timeZone`") ? read.get("timeZone")?.column : undefined;
    throw new Misread(column ?? time.column, message);
  }
}

/** How many times come in a period, where they come closest. From a fixed day on: each worker is to find the same. */
function mostWithin(times: Times, periodMs: number): number {
  const runs = times.after(Date.UTC(2024, 0, 1), catchUpMax);
  let most = 1;
  for (let first = 0, last = 0; last < runs.length; last += 1) {
    while (Number(runs[last]) - Number(runs[first]) >= periodMs && first < last) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
