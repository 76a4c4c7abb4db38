import { type Line, Misread } from "./line.ts";

/** What an option says. `fill` is in milliseconds. */
type Value = string | number | { all: number };

/** Options by name, each with the column at which it stands. */
export type CrontabOptions = ReadonlyMap<string, { column: number; value: Value }>;

/** How many missed times may be made good: as of `catchUp` elsewhere. */
export const catchUpMax = 1440;

type Read = (value: string) => Value | undefined;

const text: Read = (value) => (value === "" ? undefined : value);

/** What an option may be, and how it is read. */
const known: Readonly<Record<string, readonly [expected: string, read: Read]>> = {
  id: ["a name", text],
  timeZone: ["a time zone", text],
  catchUp: ["skip, once or all:N", readCatchUp],
  fill: ["a period such as 4w3d2h1m30s", readPeriod],
  type: ["a type of message", text],
  priority: ["an integer from 0", (value) => (/^\d+$/.test(value) ? Number(value) : undefined)],
  key: ["a key", text],
};

/** Options of graphile-worker, and what there is here in their stead. */
const elsewhere: Readonly<Record<string, string>> = {
  max: "attempts are an option of the queue, `maxRetries`",
  queue: "messages that are to be handled one after the other have a `key`, on a queue with `partitions`",
  jobKey: "each time is run once, however many workers there are",
  jobKeyMode: "each time is run once, however many workers there are",
};

/** Reads the word after a question mark: `name=value` pairs with `&` between them; `%20` is a space. */
export function readOptions(line: Line): CrontabOptions {
  const options = new Map<string, { column: number; value: Value }>();
  const word = line.word("options after `?`");
  let { column } = word;
  for (const pair of word.text.split("&")) {
    const [name = "", ...rest] = pair.split("=");
    if (options.has(name)) throw new Misread(column, `expected \`${name}\` once, got it twice`);
    options.set(name, { column, value: readOption(name, rest.join("="), column) });
    column += pair.length + 1;
  }
  const fill = options.get("fill");
  if (fill === undefined) return options;
  if (options.has("catchUp")) throw new Misread(fill.column, "expected `fill` or `catchUp`, got both");
  if (fill.value !== 0) return options;
  options.delete("fill");
  return options.set("catchUp", { column: fill.column, value: "skip" });
}

function readOption(name: string, encoded: string, column: number): Value {
  if (Object.hasOwn(elsewhere, name)) throw new Misread(column, `\`${name}\` is no option here: ${elsewhere[name]}`);
  const option = Object.hasOwn(known, name) ? known[name] : undefined;
  if (option === undefined)
    throw new Misread(column, `unknown option \`${name}\`, known: ${Object.keys(known).join(", ")}`);
  const [expected, read] = option;
  const value = read(decoded(encoded));
  if (value === undefined) throw new Misread(column, `expected \`${name}\` to be ${expected}, got: ${encoded}`);
  return value;
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    // a lone percent sign means itself
    return encoded;
  }
}

function readCatchUp(value: string): Value | undefined {
  if (value === "skip" || value === "once") return value;
  const [, count] = /^all:(\d{1,4})$/.exec(value) ?? [];
  return count !== undefined && Number(count) >= 1 && Number(count) <= catchUpMax ? { all: Number(count) } : undefined;
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function readPeriod(value: string): number | undefined {
  if (!/^(\d+[smhdw])+$/.test(value)) return undefined;
  return Array.from(
    value.matchAll(/(\d+)([smhdw])/g),
    ([, count, unit = ""]) => Number(count) * (unitMs[unit] ?? 0),
  ).reduce((sum, ms) => sum + ms);
}
