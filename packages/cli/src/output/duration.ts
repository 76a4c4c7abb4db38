import { InvalidArgumentError } from "commander";
import ms, { type StringValue } from "ms";

/**
 * An option's duration in milliseconds: `30s`, `5m`, `2h`, `1d`, `1.5h`, `250ms`, `2 weeks`. A number without a unit is refused: somebody
 * would take it for seconds, somebody else for milliseconds.
 */
export function duration(text: string): number {
  const value = /^\d+(\.\d+)? ?[a-z]+$/i.test(text) ? ms(text as StringValue) : undefined;
  if (value !== undefined && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`Expected a duration like 250ms, 30s, 5m, 2h or 1d, got: ${JSON.stringify(text)}.`);
}

/** How long to wait between two looks: more often is a load, and more than a day is more than a timer holds. */
export function interval(text: string): number {
  const value = duration(text);
  if (value >= 10 && value <= 86_400_000) return value;
  throw new InvalidArgumentError(`Expected a duration from 10ms to 1d, got: ${JSON.stringify(text)}.`);
}

/** Before the year 1 the database writes times in another way. */
const ageMsMax = 100 * 365.25 * 86_400_000;

/** A time: ISO 8601 with its zone, or how long ago that was, `2h`. `others`: the words that would do as well. */
export function timeOrAge(text: string, others = ""): Date {
  if (/^\d+(\.\d+)? ?[a-z]+$/i.test(text)) {
    const age = duration(text);
    if (age <= ageMsMax) return new Date(Date.now() - age);
    throw new InvalidArgumentError(`Expected an age of at most 100 years, got: ${JSON.stringify(text)}.`);
  }
  return readTime(text, `${others}an age like 2h, or a time`);
}

/** A time: ISO 8601 with its zone, since the machine's is not known to who reads the command. */
export function time(text: string): Date {
  return readTime(text, "a time");
}

function readTime(text: string, what: string): Date {
  const value = new Date(text);
  const [day = ""] = text.split("T");
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (isTime && !Number.isNaN(value.getTime()) && isDay(day)) return value;
  throw new InvalidArgumentError(
    `Expected ${what} with its zone like 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00, got: ${JSON.stringify(text)}.`,
  );
}

/** Date takes the 31st of February for the 3rd of March. */
function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** A setting, exactly: in the largest unit of which it is a whole number, as `duration` reads it. */
export function showDuration(value: number): string {
  const [unit, size] = units.find(([, of]) => value > 0 && value % of === 0) ?? ["ms", 1];
  return `${value / size}${unit}`;
}

/** An age, roughly: to the second, in the two largest units, "3 h 5 min 7 s" as `3h5m`. Null where there is none. */
export function showAge(ageMs: number): string;
export function showAge(ageMs: number | null): string | null;
export function showAge(ageMs: number | null): string | null {
  if (ageMs === null) return null;
  let restMs = Math.max(0, Math.round(ageMs / 1000) * 1000);
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const whole = Math.floor(restMs / size);
    restMs -= whole * size;
    if (whole > 0) parts.push(`${whole}${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.slice(0, 2).join("") || "0s";
}
