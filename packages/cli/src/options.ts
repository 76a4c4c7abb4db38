import { InvalidArgumentError, Option } from "commander";
import { duration, showDuration } from "./output/duration.ts";

interface FlagDetails<Value> {
  /** Default: by what stands for the value, `<n>` or `<duration>`; else it is a text. */
  read?: (text: string, before: Value) => Value;
  default?: Value;
  choices?: readonly string[];
  /** It may be in the environment, as PGQUE_ and its name. */
  env?: boolean;
}

/**
 * As psql has -d, and Sidekiq and Celery -c and -q. --consumer has none: a worker subscribes a consumer that is new, so that whoever types `-c 10`
 * for ten handlers would have one called 10. -j is JSON; a worker, of which graphile-worker's users want -j jobs, has no such option and refuses
 * it. A letter means one thing in all commands.
 */
const letters: Readonly<Record<string, string>> = {
  "database-url": "d",
  concurrency: "c",
  queue: "q",
  json: "j",
};

/** The flags of an option with its letter, if it has one: `-q, --queue <name>`. */
export function withLetter(flags: string): string {
  const letter = letters[/^--([a-z-]+)/.exec(flags)?.[1] ?? ""];
  return letter === undefined ? flags : `-${letter}, ${flags}`;
}

/** An option of a command. */
export function flag<Value>(flags: string, help: string, details: FlagDetails<Value> = {}): Option {
  const { read, choices, env, default: value } = details;
  const made = new Option(withLetter(flags), help);
  const isDuration = flags.endsWith("<duration>");
  if (read !== undefined) made.argParser(read);
  else if (isDuration) made.argParser(duration);
  else if (flags.endsWith("<n>")) made.argParser(integer);
  if (choices !== undefined) made.choices(choices);
  if (value !== undefined) made.default(value, isDuration ? showDuration(Number(value)) : undefined);
  return env ? inEnvironment(made) : made;
}

/** Lets an option be in the environment, as PGQUE_ and its name. */
export function inEnvironment(option: Option): Option {
  return option.env(`PGQUE_${option.name().replaceAll("-", "_").toUpperCase()}`);
}

/** A whole number; the range is checked by what it is given to. */
export function integer(text: string): number {
  const value = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError(`Expected a whole number, got: ${JSON.stringify(text)}.`);
}

/** A port; 0: any that is free. */
export function port(text: string): number {
  const value = integer(text);
  if (value >= 0 && value <= 65_535) return value;
  throw new InvalidArgumentError(`Expected a port from 0 to 65535, got: ${JSON.stringify(text)}.`);
}

/** The largest there can be. */
export const idMax = 2n ** 63n - 1n;

/** An id, without leading zeros. */
export function id(text: string): string {
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= idMax) return String(BigInt(text));
  throw new InvalidArgumentError(`Expected an id, a whole number from 0 on, got: ${JSON.stringify(text)}.`);
}

/** For an option that is given any number of times, or several values at once. */
export function ids(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(",").map((one) => id(one.trim()))];
}

/** A number that the benchmark checks. */
export function number(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`Expected a number, got: ${JSON.stringify(text)}.`);
}

/** Numbers with commas between them. */
export function numbers(text: string): number[] {
  return list(text).map(number);
}

/** Names with commas between them. */
export function list(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}

export function onOff(text: string): boolean {
  if (text === "on" || text === "off") return text === "on";
  throw new InvalidArgumentError(`Expected "on" or "off", got: ${JSON.stringify(text)}.`);
}

/** Of commands that print a line for each message. */
export const jsonLines = "print JSON lines for programs: ids are strings, times ISO 8601";

/** The options that were given, without those that were not: an option that is undefined is no option for the client. */
export function given<T extends object>(options: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
