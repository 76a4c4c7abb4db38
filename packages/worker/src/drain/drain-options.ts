import { inspect } from "node:util";
import { PgqueError } from "@pgque/client";

/** How a worker runs once. */
export interface RunOnceOptions {
  /** At most so many messages. 1 to 100000. Default: the worker's `prefetch`. */
  max?: number | undefined;
  /** Whether a handler that fails ends the call: it rejects with a `DrainError` whose cause is what the handler threw. Default: false. */
  throwOnFailure?: boolean | undefined;
  /** Aborted, the call receives no more and ends as `stop()` does; it resolves with what was done until then. Default: none. */
  signal?: AbortSignal | undefined;
}

/** How a worker drains its queue. */
export interface DrainOptions extends Omit<RunOnceOptions, "max"> {
  /**
   * Whether what waits for its time, sent for later or to be tried again, is brought forward and handled too, in the order of the times: all of it,
   * or what is due by a time of the database's clock. It needs `<schema>_admin`. Default: false.
   */
  delayed?: boolean | Date | undefined;
  /**
   * After so many messages the call gives up with a `DrainError`: a handler that always fails, snoozes or sends would keep it going for ever.
   * 1 to 1000000000. Default: 10000 with `delayed`, none without.
   */
  maxMessages?: number | undefined;
}

type Check = readonly [isFine: (value: unknown) => boolean, what: string];

const integer = (max: number): Check => [
  (value) => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= max,
  `an integer from 1 to ${max}`,
];

const shared = {
  throwOnFailure: [(value) => typeof value === "boolean", "true or false"],
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
} satisfies Record<string, Check>;

const runOnceChecks: Record<keyof RunOnceOptions, Check> = { ...shared, max: integer(100_000) };

const drainChecks: Record<keyof DrainOptions, Check> = {
  ...shared,
  delayed: [
    (value) => typeof value === "boolean" || (value instanceof Date && !Number.isNaN(value.getTime())),
    "true, false or a valid Date",
  ],
  maxMessages: integer(1_000_000_000),
};

/** How many messages `drain` handles at most when it also brings forward what is delayed, and nobody says how many. */
const delayedMessagesMax = 10_000;

/** @throws PgqueError INVALID_OPTION naming everything that is wrong */
export function checkRunOnce(options: RunOnceOptions): void {
  check("runOnce", options, runOnceChecks);
}

/** @throws PgqueError INVALID_OPTION naming everything that is wrong */
export function checkDrain(options: DrainOptions): void {
  check("drain", options, drainChecks);
}

export function messagesMax({ delayed = false, maxMessages }: DrainOptions): number {
  return maxMessages ?? (delayed === false ? Number.POSITIVE_INFINITY : delayedMessagesMax);
}

function check(call: string, options: object, checks: Record<string, Check>): void {
  const problems = Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    const [isFine, what] = (Object.hasOwn(checks, name) ? checks[name] : undefined) ?? [];
    if (isFine === undefined) return [`unknown option \`${name}\`, known: ${Object.keys(checks).join(", ")}`];
    return isFine(value) ? [] : [`expected \`${name}\` to be ${what}, got: ${inspect(value, { depth: 0 })}`];
  });
  if (problems.length > 0)
    throw new PgqueError("INVALID_OPTION", `${call}: ${problems.join("; ")}`, { details: { problems } });
}
