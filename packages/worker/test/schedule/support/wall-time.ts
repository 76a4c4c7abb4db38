import * as fc from "fast-check";

/** Each field of an expression: what it says, and which values that means. Minute, hour, day of month, month, day of week. */
type Field = { said: string; values: Set<number> };

export interface Fields {
  fields: Field[];
  /** Without `*` and `/` in minutes and hours: of times that do not exist, or come twice, one counts. */
  isFixed: boolean;
}

const range = (first: number, last: number, step: number = 1): number[] =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);

/** Numbers up to `max`; `*` is all up to `last`. */
function field(min: number, max: number, last: number = max): fc.Arbitrary<Field & { isWild: boolean }> {
  const value = fc.integer({ min, max });
  const make = (said: string, values: number[], isWild: boolean) => ({ said, values: new Set(values), isWild });
  return fc.oneof(
    fc.constant(make("*", range(min, last), true)),
    fc.integer({ min: 2, max }).map((step) => make(`*/${step}`, range(min, last, step), true)),
    value.map((only) => make(`${only}`, [only], false)),
    fc.tuple(value, value).map(([a, b]) => make(`${a},${b}`, [a, b], false)),
    fc.tuple(value, value).map(([a, b]) => {
      const [first, last] = [Math.min(a, b), Math.max(a, b)];
      return make(`${first}-${last}`, range(first, last), false);
    }),
  );
}

const any = (min: number, max: number): Field => ({ said: "*", values: new Set(range(min, max)) });

/** Any minutes; hours of the night, when clocks change; some weekdays, or all days. */
export const cronFields: fc.Arbitrary<Fields> = fc
  .tuple(field(0, 59), field(0, 5, 23), fc.oneof(fc.constant(any(0, 6)), field(0, 6)))
  .map(([minute, hour, weekday]) => ({
    fields: [minute, hour, any(1, 31), any(1, 12), weekday],
    isFixed: !minute.isWild && !hour.isWild,
  }));

export const text = (fields: Field[]): string => fields.map(({ said }) => said).join(" ");

/** Zones, and times shortly before their clocks change. */
export const zones = [
  ["UTC", "2026-03-28T12:00Z"],
  ["Europe/Berlin", "2026-03-28T12:00Z"],
  ["Europe/Berlin", "2026-10-24T12:00Z"],
  ["America/New_York", "2026-03-07T12:00Z"],
  ["America/New_York", "2026-10-31T12:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T02:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T02:00Z"],
  ["America/Santiago", "2026-04-04T12:00Z"],
  ["America/Santiago", "2026-09-05T12:00Z"],
  ["Asia/Kathmandu", "2026-03-28T12:00Z"],
].map(([timeZone = "", from = ""]) => ({ timeZone, fromMs: Date.parse(from) }));

const formats = new Map<string, Intl.DateTimeFormat>();

/** What the clocks of a zone show, as if it were UTC. */
function wall(at: Date, timeZone: string): Date {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
    formats.set(timeZone, format);
  }
  return new Date(`${format.format(at).replace(" ", "T")}Z`);
}

/** Whether the clocks of the zone show what the expression says. */
export function matches(fields: Field[], at: Date, timeZone: string): boolean {
  const shown = wall(at, timeZone);
  const values = [
    shown.getUTCMinutes(),
    shown.getUTCHours(),
    shown.getUTCDate(),
    shown.getUTCMonth() + 1,
    shown.getUTCDay(),
  ];
  return fields.every((field, i) => field.values.has(values[i] ?? -1));
}

/** Whether the clocks of the zone have just gone forward. */
export function isGapEnd(at: Date, timeZone: string): boolean {
  const before = new Date(at.getTime() - 1000);
  return wall(at, timeZone).getTime() - wall(before, timeZone).getTime() > 1000;
}

/** The minutes of the hours after a time, it not included. */
export function everyMinute(fromMs: number, hours: number): Date[] {
  return Array.from({ length: hours * 60 }, (_, i) => new Date(fromMs + (i + 1) * 60_000));
}
