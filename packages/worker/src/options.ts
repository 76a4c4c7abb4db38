import { inspect } from "node:util";
import { defaultConsumer, PgqueError } from "@pgque/client";
import { guarded, standardError, type Logger } from "./log.ts";

export interface WorkerOptions {
  /** Handlers at once in this worker. 1 to 10000. Default: 10. */
  concurrency?: number | undefined;
  /** Most messages received and not handled yet, those being handled included. At least `concurrency`, at most 100000. Default: twice `concurrency`. */
  prefetch?: number | undefined;
  /**
   * Most messages in one batch, which is settled in one call. 1 to 100000. Small batches cost more calls; when a worker crashes, what it
   * had handled of its open batches within the last second or so comes again. Default: `prefetch`.
   */
  batchSize?: number | undefined;
  /** The consumer to receive for, shared by all its workers. Any Unicode, 1 to 57 bytes. Default: `default`. */
  consumer?: string | undefined;
  /** How long a batch is this worker's without a heartbeat, in milliseconds. 1000 to 604800000 (7 days). Default: 30000. */
  leaseMs?: number | undefined;
  /**
   * A heartbeat every so many milliseconds, while there is something to keep, that counts for three times as long. A crashed worker's messages
   * come back when both this and `leaseMs` have run out. A handler that blocks the event loop for longer than that loses its message to
   * another worker. 100 to 3600000, less than `leaseMs`. Default: 5000.
   */
  heartbeatIntervalMs?: number | undefined;
  /**
   * Whether to be woken by what is sent, on a connection of its own outside of the pool. Where notifications do not arrive, behind a
   * transaction pooler, the worker finds out and polls. Default: true.
   */
  listen?: boolean | undefined;
  /** How often a worker that can be woken looks for messages nevertheless, in milliseconds. 1 to 600000. Default: 5000. */
  safetyPollMs?: number | undefined;
  /** Shortest wait of a worker that polls, in milliseconds. 1 to 60000. Default: 25. */
  pollMinMs?: number | undefined;
  /** While there is nothing, that wait doubles up to this many milliseconds; the first message brings it back. `pollMinMs` to 600000. Default: 1000. */
  pollMaxMs?: number | undefined;
  /** A failed message waits this many milliseconds before it is tried again, then … 0 to 86400000. Default: 1000. */
  retryMinMs?: number | undefined;
  /** … with `exponential` twice as long after each attempt, with `fixed` always as long, … Default: `exponential`. */
  retryBackoff?: "exponential" | "fixed" | undefined;
  /** … never longer than this, … `retryMinMs` to 86400000 (a day). Default: 3600000 (an hour). */
  retryMaxMs?: number | undefined;
  /** … and, if so, times a random number from 0 to 1, so that what failed together does not come back together. Default: true. */
  retryJitter?: boolean | undefined;
  /** How long `stop()` waits for handlers before it aborts their signal, in milliseconds. 0 to 86400000. Default: 30000. */
  shutdownTimeoutMs?: number | undefined;
  /** Every so many milliseconds the queue is maintained: ended leases, due retries, rotation. 100 to 3600000. Default: 1000. */
  maintainIntervalMs?: number | undefined;
  /** Where to say what happens, such as `console`. Default: warnings and errors on standard error. */
  log?: Logger | undefined;
}

/** Every option with its value. */
export type ResolvedOptions = { [Name in keyof WorkerOptions]-?: NonNullable<WorkerOptions[Name]> };

type Other = "consumer" | "listen" | "retryBackoff" | "retryJitter" | "log";
type Numeric = Exclude<keyof WorkerOptions, Other>;

const dayMs = 86_400_000;

/** Least and most of each numeric option. */
export const optionLimits: Readonly<Record<Numeric, readonly [number, number]>> = {
  concurrency: [1, 10_000],
  prefetch: [1, 100_000],
  batchSize: [1, 100_000],
  leaseMs: [1000, 7 * dayMs],
  heartbeatIntervalMs: [100, 3_600_000],
  safetyPollMs: [1, 600_000],
  pollMinMs: [1, 60_000],
  pollMaxMs: [1, 600_000],
  retryMinMs: [0, dayMs],
  retryMaxMs: [0, dayMs],
  shutdownTimeoutMs: [0, dayMs],
  maintainIntervalMs: [100, 3_600_000],
};

/** What an option is when it is not given; `prefetch` and `batchSize` follow from `concurrency`. */
export const defaultOptions: Readonly<Record<Exclude<Numeric, "prefetch" | "batchSize">, number>> = {
  concurrency: 10,
  leaseMs: 30_000,
  heartbeatIntervalMs: 5000,
  safetyPollMs: 5000,
  pollMinMs: 25,
  pollMaxMs: 1000,
  retryMinMs: 1000,
  retryMaxMs: 3_600_000,
  shutdownTimeoutMs: 30_000,
  maintainIntervalMs: 1000,
};

/** Options with defaults, or one error with everything that is wrong. */
export function resolveOptions(handler: unknown, options: WorkerOptions): ResolvedOptions {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as WorkerOptions;
  const concurrency = given.concurrency ?? defaultOptions.concurrency;
  const prefetch = given.prefetch ?? 2 * concurrency;
  const resolved = {
    ...defaultOptions,
    consumer: defaultConsumer,
    listen: true,
    retryBackoff: "exponential",
    retryJitter: true,
    log: standardError,
    prefetch,
    batchSize: prefetch,
    ...given,
  } as ResolvedOptions;
  const wrong = valueProblems(handler, given);
  const problems = wrong.length > 0 ? wrong : orderProblems(resolved);
  if (problems.length > 0)
    throw new PgqueError("INVALID_OPTION", `new Worker: ${problems.join("; ")}`, { details: { problems } });
  return { ...resolved, log: guarded(resolved.log) };
}

const isBoolean = (value: unknown): boolean => typeof value === "boolean";

/** What the options that are not numbers must be. */
const otherChecks: Readonly<Record<Other, readonly [(value: unknown) => boolean, string]>> = {
  consumer: [isName, "a name of 1 to 57 bytes of UTF-8"],
  listen: [isBoolean, "true or false"],
  retryBackoff: [(value) => value === "exponential" || value === "fixed", '"exponential" or "fixed"'],
  retryJitter: [isBoolean, "true or false"],
  log: [isLogger, "a logger with debug, info, warn and error"],
};

function valueProblems(handler: unknown, options: WorkerOptions): string[] {
  const problems = Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    if (Object.hasOwn(otherChecks, name)) {
      const [isFine, what] = otherChecks[name as Other];
      return isFine(value) ? [] : [expected(name, what, value)];
    }
    if (!Object.hasOwn(optionLimits, name)) {
      const known = [...Object.keys(optionLimits), ...Object.keys(otherChecks)];
      return [`unknown option \`${name}\`, known: ${known.join(", ")}`];
    }
    const [min, max] = optionLimits[name as Numeric];
    const isFine = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
    return isFine ? [] : [expected(name, `an integer from ${min} to ${max}`, value)];
  });
  return typeof handler === "function" ? problems : [expected("handler", "a function", handler), ...problems];
}

/** Options that are fine by themselves but not together. */
function orderProblems(options: ResolvedOptions): string[] {
  const pairs: [Numeric, Numeric][] = [
    ["concurrency", "prefetch"],
    ["heartbeatIntervalMs", "leaseMs"],
    ["pollMinMs", "pollMaxMs"],
    ["retryMinMs", "retryMaxMs"],
  ];
  return pairs
    .filter(([less, more]) => options[less] > options[more])
    .map(([less, more]) => expected(more, `at least \`${less}\` (${options[less]})`, options[more]));
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

function isLogger(value: unknown): boolean {
  const log = value as Partial<Logger> | null;
  return [log?.debug, log?.info, log?.warn, log?.error].every((level) => typeof level === "function");
}
