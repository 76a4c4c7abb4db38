import { inspect } from "node:util";
import { PgqueError } from "../errors/errors.ts";

/** Says what is wrong with a value, or nothing. */
export type Check = (name: string, value: unknown) => string | undefined;

/** An integer in a range, both ends included. */
export function integer(min: number, max: number): Check {
  return (name, value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
      ? undefined
      : `expected \`${name}\` to be an integer from ${min} to ${max}, got: ${show(value)}`;
}

/** A number in a range, both ends included; fractions are fine. */
export function number(min: number, max: number): Check {
  return (name, value) =>
    typeof value === "number" && value >= min && value <= max
      ? undefined
      : `expected \`${name}\` to be a number from ${min} to ${max}, got: ${show(value)}`;
}

/** One of a few strings. */
export function oneOf(...allowed: string[]): Check {
  return (name, value) =>
    typeof value === "string" && allowed.includes(value)
      ? undefined
      : `expected \`${name}\` to be ${allowed.map((a) => JSON.stringify(a)).join(" or ")}, got: ${show(value)}`;
}

/** Text that Postgres can store: it knows neither U+0000 nor half a surrogate pair. */
export const text: Check = (name, value) => {
  if (typeof value !== "string") return `expected \`${name}\` to be a string, got: ${show(value)}`;
  if (value.includes("\0")) return `expected \`${name}\` to be without U+0000, got: ${show(value)}`;
  if (!value.isWellFormed()) return `expected \`${name}\` to be well-formed Unicode, got: ${show(value)}`;
  return undefined;
};

/** A queue's or consumer's name: the wake-up channel is `pgque_` and the name, and Postgres cuts those at 63 bytes. */
export const name: Check = (name, value) => {
  const problem = text(name, value);
  if (problem !== undefined) return problem;
  const bytes = Buffer.byteLength(String(value));
  return bytes >= 1 && bytes <= 57
    ? undefined
    : `expected \`${name}\` to have 1 to 57 bytes of UTF-8, got: ${bytes} bytes in ${show(value)}`;
};

export const boolean: Check = (name, value) =>
  typeof value === "boolean" ? undefined : `expected \`${name}\` to be true or false, got: ${show(value)}`;

export const time: Check = (name, value) =>
  value instanceof Date && !Number.isNaN(value.getTime())
    ? undefined
    : `expected \`${name}\` to be a valid Date, got: ${show(value)}`;

/** The same checks, and null passes. */
export function nullable<Name extends string>(checks: Record<Name, Check>): Record<Name, Check> {
  const entries = Object.entries<Check>(checks).map(([name, check]): [string, Check] => [
    name,
    (given, value) => (value === null ? undefined : check(given, value)),
  ]);
  return Object.fromEntries(entries) as Record<Name, Check>;
}

/** A plain object. */
export const object: Check = (name, value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? undefined
    : `expected \`${name}\` to be an object, got: ${show(value)}`;

/** What every call can be given. */
export interface CallOptions {
  /**
   * Gives the call up: it then rejects with the signal's reason. One that has not begun is not sent; one under way is cancelled in the
   * database, unless it runs in the caller's transaction, which that would break. A call that was done nevertheless returns its result.
   */
  signal?: AbortSignal | undefined;
}

export const callChecks: Record<keyof CallOptions, Check> = {
  signal: (name, value) =>
    value instanceof AbortSignal ? undefined : `expected \`${name}\` to be an AbortSignal, got: ${show(value)}`,
};

/** Everything wrong with an object of options, unknown names included. An option that is undefined is one that is not given. */
export function problemsOf(options: unknown, checks: Record<string, Check>): string[] {
  const problem = object("options", options);
  if (problem !== undefined) return [problem];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(Object(options))) {
    if (value === undefined) continue;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const found = check ? check(name, value) : `unknown option \`${name}\`, known: ${Object.keys(checks).join(", ")}`;
    if (found !== undefined) problems.push(found);
  }
  return problems;
}

/** Throws all problems at once, if there are any. `where` names the call that was given them. */
export function refuse(where: string, problems: readonly (string | undefined)[]): void {
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length === 0) return;
  throw new PgqueError("INVALID_OPTION", `${where}: ${found.join("; ")}`, { details: { problems: found } });
}

/** A value as it is shown in messages: short, on one line. */
export function show(value: unknown): string {
  return inspect(value, { depth: 1, maxStringLength: 80, maxArrayLength: 5, breakLength: Number.POSITIVE_INFINITY });
}
