import { inspect } from "node:util";
import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";
import { optionLimits, type Numeric, type Other } from "./option-limits.ts";
import type { ResolvedOptions } from "./options.ts";
import { declarationProblems } from "./schedule/declared.ts";

/** What is wrong with options, all of it: first each by itself, and when none is, together. */
export function optionProblems(handler: unknown, given: Partial<ResolvedOptions>, resolved: ResolvedOptions): string[] {
  const wrong = valueProblems(handler, given);
  return wrong.length > 0 ? wrong : orderProblems(resolved);
}

const isBoolean = (value: unknown): boolean => typeof value === "boolean";

/** What the options that are not numbers must be. */
const otherChecks: Readonly<Record<Other, readonly [(value: unknown) => boolean, string]>> = {
  consumer: [isName, "a name of 1 to 57 bytes of UTF-8"],
  mode: [(value) => value === "shared" || value === "ordered", '"shared" or "ordered"'],
  onFailure: [(value) => value === "block" || value === "skip", '"block" or "skip"'],
  batch: [isBoolean, "true or false"],
  transactional: [isBoolean, "true or false"],
  unknownType: [
    (value) => value === "retry" || value === "ack" || value === "deadLetter",
    '"retry", "ack" or "deadLetter"',
  ],
  listen: [isBoolean, "true or false"],
  retryBackoff: [
    (value) => value === "exponential" || value === "fixed" || typeof value === "function",
    '"exponential", "fixed" or a function',
  ],
  retryJitter: [isBoolean, "true or false"],
  clock: [isClock, "a clock with now and wait"],
  middleware: [
    (value) => Array.isArray(value) && value.every((one) => typeof one === "function"),
    "an array of functions",
  ],
  log: [isLogger, "a logger with debug, info, warn and error"],
};

function valueProblems(handler: unknown, options: Partial<ResolvedOptions>): string[] {
  const problems = Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    if (name === "schedules") return declarationProblems(value);
    if (Object.hasOwn(otherChecks, name)) {
      const [isFine, what] = otherChecks[name as Other];
      return isFine(value) ? [] : [expected(name, what, value)];
    }
    if (!Object.hasOwn(optionLimits, name)) {
      const known = [...Object.keys(optionLimits), ...Object.keys(otherChecks), "schedules"];
      return [`unknown option \`${name}\`, known: ${known.join(", ")}`];
    }
    const [min, max] = optionLimits[name as Numeric];
    const isFine = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
    return isFine ? [] : [expected(name, `an integer from ${min} to ${max}`, value)];
  });
  return [...handlerProblems(handler, options), ...problems];
}

function handlerProblems(handler: unknown, { batch }: Partial<ResolvedOptions>): string[] {
  if (typeof handler === "function") return [];
  const byType =
    typeof handler === "object" && handler !== null && !Array.isArray(handler) ? Object.values(handler) : [];
  if (batch !== true && byType.length > 0 && byType.every((of) => of === undefined || typeof of === "function"))
    return [];
  return [
    expected("handler", batch ? "a function" : "a function, or an object with a function for each type", handler),
  ];
}

/** Options that are fine by themselves but not together. */
function orderProblems(options: ResolvedOptions): string[] {
  const pairs: [Numeric, Numeric][] = [
    ["concurrency", "prefetch"],
    ["heartbeatIntervalMs", "leaseMs"],
    ["pollMinMs", "pollMaxMs"],
    ["retryMinMs", "retryMaxMs"],
  ];
  const together =
    options.batch && options.mode === "ordered" ? ['expected `batch` or `mode: "ordered"`, got both'] : [];
  const wrong = pairs
    .filter(([less, more]) => options[less] > options[more])
    .map(([less, more]) => expected(more, `at least \`${less}\` (${options[less]})`, options[more]));
  return [...together, ...wrong];
}

function expected(name: string, what: string, value: unknown): string {
  return `expected \`${name}\` to be ${what}, got: ${inspect(value, { depth: 0, maxStringLength: 80, breakLength: Number.POSITIVE_INFINITY })}`;
}

function isName(value: unknown): boolean {
  return (
    typeof value === "string" &&
    value.length > 0 &&
    Buffer.byteLength(value) <= 57 &&
    !value.includes("\0") &&
    value.isWellFormed()
  );
}

function isClock(value: unknown): boolean {
  const clock = value as Partial<Clock> | null;
  return typeof clock?.now === "function" && typeof clock.wait === "function";
}

function isLogger(value: unknown): boolean {
  const log = value as Partial<Logger> | null;
  return [log?.debug, log?.info, log?.warn, log?.error].every((level) => typeof level === "function");
}
