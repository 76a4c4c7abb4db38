import type { StandardSchemaV1 } from "@standard-schema/spec";
import { inspect } from "node:util";
import { field } from "./field.ts";

/** What sort of value an option takes. `choice`: one of some words; `other`: a function or an object. */
export type Kind = "integer" | "number" | "boolean" | "choice" | "text" | "time" | "other";

/** What is known of the values that a check lets pass. */
export interface Facts {
  readonly kind: Kind;
  /** Of numbers: the least and the most, both included. */
  readonly min?: number;
  readonly max?: number;
  /** Of a choice: its words. */
  readonly choices?: readonly string[];
}

/** Says what is wrong with a value, or nothing. Knows of which type it is then. */
export interface Check<Value = unknown> extends Facts {
  (name: string, value: unknown): string | undefined;
  /** Only for the compiler: never there. */
  readonly "~value"?: Value;
}

/** A check that says itself what is wrong. */
export function check<Value>(
  problem: (name: string, value: unknown) => string | undefined,
  facts: Facts = { kind: "other" },
): Check<Value> {
  return Object.assign((name: string, value: unknown) => problem(name, value), facts);
}

/** A check of which the problem is always that something else was expected, which `what` names. */
export function expecting<Value>(what: string, isFine: (value: unknown) => boolean, facts?: Facts): Check<Value> {
  return check<Value>((name, value) => (isFine(value) ? undefined : expected(name, what, value)), facts);
}

/** An integer in a range, both ends included. */
export function integer(min: number, max: number): Check<number> {
  return expecting(
    `an integer from ${min} to ${max}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    { kind: "integer", min, max },
  );
}

/** A number in a range, both ends included; fractions are fine. */
export function number(min: number, max: number): Check<number> {
  return expecting(
    `a number from ${min} to ${max}`,
    (value) => typeof value === "number" && value >= min && value <= max,
    { kind: "number", min, max },
  );
}

/** One of a few strings. */
export function oneOf<const Word extends string>(...choices: Word[]): Check<Word> {
  const words = choices.map((word) => JSON.stringify(word));
  return expecting(
    `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`,
    (value) => typeof value === "string" && choices.some((word) => word === value),
    { kind: "choice", choices },
  );
}

/** Text that Postgres can store: it knows neither U+0000 nor half a surrogate pair. */
export const text: Check<string> = check(
  (name, value) => {
    if (typeof value !== "string") return expected(name, "a string", value);
    if (value.includes("\0")) return expected(name, "without U+0000", value);
    return value.isWellFormed() ? undefined : expected(name, "well-formed Unicode", value);
  },
  { kind: "text" },
);

/** Text of so many bytes as UTF-8. */
export function sizedText(min: number, max: number): Check<string> {
  return check(
    (name, value) => {
      const problem = text(name, value);
      if (problem !== undefined) return problem;
      const bytes = Buffer.byteLength(String(value));
      return bytes >= min && bytes <= max
        ? undefined
        : `expected \`${name}\` to have ${min} to ${max} bytes of UTF-8, got: ${bytes} bytes in ${show(value)}`;
    },
    { kind: "text" },
  );
}

/** A queue's or consumer's name: the wake-up channel is `pgque_` and the name, and Postgres cuts those at 63 bytes. */
export const name: Check<string> = sizedText(1, 57);

export const boolean: Check<boolean> = expecting("true or false", (value) => typeof value === "boolean", {
  kind: "boolean",
});

export const time: Check<Date> = expecting("a valid Date", isTime, { kind: "time" });

export function isTime(value: unknown): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

/** The largest id there can be. */
const idMax = 2n ** 63n - 1n;

/** An id as a call takes it: ids are strings, and a bigint is as good. A number is refused, for it may have been rounded. */
export type Id = string | bigint;

const isId = (value: unknown): boolean =>
  typeof value === "bigint"
    ? value >= 0n && value <= idMax
    : typeof value === "string" && /^(0|[1-9]\d{0,18})$/.test(value) && (value.length < 19 || BigInt(value) <= idMax);

/** An id of a message, a batch or a dead letter. */
export const id: Check<Id> = expecting<Id>(`an id, a decimal string from "0" to "${idMax}" or a bigint`, isId);

export const ids: Check<readonly Id[]> = check((name, value) => {
  if (!Array.isArray(value)) return expected(name, "an array of ids", value);
  const wrong = value.findIndex((one) => !isId(one));
  return wrong === -1 ? undefined : id(`${name}[${wrong}]`, value[wrong]);
});

/** A plain object. */
export const object: Check<object> = expecting(
  "an object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** A function. `what` says more of it. */
export function callable<Value>(what = "a function"): Check<Value> {
  return expecting(what, (value) => typeof value === "function");
}

/** An object that has these methods. */
export function withMethods<Value>(what: string, ...methods: string[]): Check<Value> {
  return expecting(what, (value) => methods.every((method) => typeof field(value, method) === "function"));
}

/** What the call that uses it checks itself. */
export function unchecked<Value>(): Check<Value> {
  return check<Value>(() => undefined);
}

export function expected(name: string, what: string, value: unknown): string {
  return `expected \`${name}\` to be ${what}, got: ${show(value)}`;
}

/** What was thrown, in a few words: an error's message, or its name when it has none. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** A value as it is shown in messages: short, on one line. */
export function show(value: unknown): string {
  return inspect(value, { depth: 1, maxStringLength: 80, maxArrayLength: 5, breakLength: Number.POSITIVE_INFINITY });
}

/** A schema of whatever library keeps the standard. */
export const standardSchema = expecting<StandardSchemaV1>("a Standard Schema (zod, valibot, arktype, …)", (value) => {
  const standard = field(value, "~standard");
  return field(standard, "version") === 1 && typeof field(standard, "validate") === "function";
});
