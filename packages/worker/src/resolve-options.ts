import type { Message, MessageTypes } from "@pgque/client";
import { defaultsOf, expected, problemsOf, refuse } from "@pgque/client/options";
import { Attempts } from "./execute/attempts.ts";
import { Watch } from "./health/watch.ts";
import { guarded, withFields, type Fields } from "./log.ts";
import { declarationProblems } from "./schedule/declared.ts";
import { Reports } from "./steps/reports.ts";
import { workerOptions, type WorkerOptions } from "./options.ts";

/** Every option with its value, and what all parts say what happens to. */
export type ResolvedOptions = {
  [Name in keyof Omit<WorkerOptions, "batch" | "onFailure">]-?: NonNullable<WorkerOptions[Name]>;
} & {
  batch: boolean;
  /** Undefined: not given, which is `block`. */
  onFailure?: "block" | "skip";
  watch: Watch;
  attempts: Attempts;
  reports: Reports;
  /** Told of every failure, before what becomes of the message. Set by the worker itself. */
  onFailed?: (message: Message, error: unknown) => void;
};

/** How many messages a handler of batches is given. */
const batchSize = 100;

/** Options with defaults, or one error with everything that is wrong. `about`: what every line of the log is to have, beside the consumer. */
export function resolveOptions(
  handler: unknown,
  options: WorkerOptions<MessageTypes, boolean>,
  about: Fields = {},
): ResolvedOptions {
  refuse("new Worker", [
    ...handlerProblems(handler, options),
    ...problemsOf(options, workerOptions),
    ...(options.schedules === undefined ? [] : declarationProblems(options.schedules)),
  ]);
  const given = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Partial<ResolvedOptions>;
  const concurrency = given.concurrency ?? workerOptions.concurrency.default;
  // of a handler of batches: one batch more than are handled
  const prefetch =
    given.prefetch ?? (given.batch ? (concurrency + 1) * (given.batchSize ?? batchSize) : 2 * concurrency);
  const resolved = {
    ...defaultsOf(workerOptions),
    timeoutMs: Number.POSITIVE_INFINITY,
    maxAgeMs: Number.POSITIVE_INFINITY,
    prefetch,
    batchSize: given.batch ? batchSize : prefetch,
    ...given,
  } as ResolvedOptions;
  refuse("new Worker", orderProblems(resolved));
  const log = withFields(guarded(resolved.log), { ...about, consumer: resolved.consumer });
  return { ...resolved, log, watch: new Watch(log), attempts: new Attempts(), reports: new Reports() };
}

function handlerProblems(handler: unknown, { batch }: { batch?: unknown }): string[] {
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
  const pairs = [
    ["concurrency", "prefetch"],
    ["heartbeatIntervalMs", "leaseMs"],
    ["pollMinMs", "pollMaxMs"],
    ["retryMinMs", "retryMaxMs"],
  ] as const;
  const together =
    options.batch && options.mode === "ordered" ? ['expected `batch` or `mode: "ordered"`, got both'] : [];
  const wrong = pairs
    .filter(([less, more]) => options[less] > options[more])
    .map(([less, more]) => expected(more, `at least \`${less}\` (${options[less]})`, options[more]));
  return [...together, ...wrong];
}
