import { defaultConsumer, PgqueError, type Message, type MessageOf, type MessageTypes } from "@pgque/client";
import { Attempts } from "./execute/attempts.ts";
import { systemClock, type Clock } from "./clock.ts";
import type { DeclaredSchedules } from "./schedule/declared.ts";
import { optionProblems } from "./option-checks.ts";
import { defaultOptions } from "./option-limits.ts";
import { Watch } from "./health/watch.ts";
import { guarded, standardError, withFields, type Fields, type Logger } from "./log.ts";
import type { Middleware } from "./execute/middleware.ts";

export interface WorkerOptions<Types extends MessageTypes = MessageTypes> {
  /** Handlers at once in this worker. 1 to 10000. Default: 10. */
  concurrency?: number | undefined;
  /** Most messages received and not handled yet, those being handled included. At least `concurrency`, at most 100000. Default: twice `concurrency`, with `batch` `batchSize` times one more than `concurrency`. */
  prefetch?: number | undefined;
  /**
   * Most bytes of payloads, as UTF-8, received and not handled yet: no more is received while there are so many, so it is less than this and one
   * message. 1 to 2147483647. Default: 16777216 (16 MiB).
   */
  prefetchBytes?: number | undefined;
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
   * another worker. 100 to 3600000, at most `leaseMs`. Default: 5000.
   */
  heartbeatIntervalMs?: number | undefined;
  /**
   * Whether to be woken by what is sent, on a connection of its own outside of the pool. Where notifications do not arrive, behind a
   * transaction pooler, the worker finds out and polls. Default: true.
   */
  listen?: boolean | undefined;
  /** How often a worker that can be woken looks for messages nevertheless, in milliseconds. 1 to 600000. Default: 5000. */
  fallbackPollMs?: number | undefined;
  /** Shortest wait of a worker that polls, in milliseconds. 1 to 60000. Default: 25. */
  pollMinMs?: number | undefined;
  /** While there is nothing, that wait doubles up to this many milliseconds; the first message brings it back. `pollMinMs` to 600000. Default: 1000. */
  pollMaxMs?: number | undefined;
  /**
   * `shared`: its workers take messages as they come. `ordered`, on a queue with `partitions`: messages of one key are handled one after the
   * other, by any number of workers; `concurrency` is then how many keys' lanes at once. Default: `shared`.
   */
  mode?: "shared" | "ordered" | undefined;
  /** Of an ordered consumer: what is behind a failed message waits for it, or goes on. Counts when the consumer is made. Default: `block`. */
  onFailure?: "block" | "skip" | undefined;
  /** A handler of one message at a time; `BatchWorkerOptions` for one that takes many. */
  batch?: false | undefined;
  /**
   * Whether each call of the handler is in a transaction, `context.tx`, that commits with the ack: what it writes there happens exactly once. It
   * takes a connection of the pool for as long as it runs, and holds the horizon for your other tables. Of the pool's `max` connections one is left
   * for all else: no more than the others run at once. Default: false.
   */
  transactional?: boolean | undefined;
  /** What becomes of messages of a type that there is no handler for: tried again, for a newer version of the worker; acked; dead letters. Default: `retry`. */
  unknownType?: "retry" | "ack" | "deadLetter" | undefined;
  /**
   * In milliseconds: the signal of a handler that takes longer is aborted. What it comes to within a second after that counts; otherwise the message is
   * tried again, the connection of its transaction is cut, and a handler that does not heed the signal goes on and keeps its place. 1 to 604800000 (7 days). Default: none.
   */
  timeoutMs?: number | undefined;
  /** A failed message that was sent longer ago becomes a dead letter, in milliseconds. 1 to 315360000000 (10 years). Default: none. */
  maxAgeMs?: number | undefined;
  /** A failed message waits this many milliseconds before it is tried again, then … 0 to 86400000. Default: 1000. */
  retryMinMs?: number | undefined;
  /**
   * … with `exponential` twice as long after each attempt, with `fixed` always as long, or as many milliseconds as a function of attempt, error and
   * message says, without `retryMinMs` and jitter, … Default: `exponential`.
   */
  retryBackoff?: "exponential" | "fixed" | ((attempt: number, error: unknown, message: Message) => number) | undefined;
  /** … never longer than this, … `retryMinMs` to 86400000 (a day). Default: 3600000 (an hour). */
  retryMaxMs?: number | undefined;
  /** … and, if so, times a random number from 0.5 to 1, so that what failed together does not come back together. Default: true. */
  retryJitter?: boolean | undefined;
  /**
   * How long the worker waits for the database to answer a call, in milliseconds. Then the call is cancelled, its connection given up and the
   * call made again on another: a connection may be gone without anybody having been told. 1000 to 3600000. Default: 30000.
   */
  queryTimeoutMs?: number | undefined;
  /** How long `stop()` waits for handlers before it aborts their signal, in milliseconds. 0 to 86400000. Default: 30000. */
  shutdownTimeoutMs?: number | undefined;
  /** Every so many milliseconds the queue is maintained: ended leases, due retries, rotation. 100 to 3600000. Default: 1000. */
  maintainIntervalMs?: number | undefined;
  /**
   * Schedules of the queue, by name, set when the worker starts, as with `pgque.schedules.set`: which needs `<schema>_admin` when they are
   * not just like that already. One that is no longer declared stays: remove it with `pgque.schedules.remove`. A worker runs every
   * schedule of its queue, whoever has set it. Default: none.
   */
  schedules?: DeclaredSchedules<Types> | undefined;
  /**
   * What time it is, for tests: `manualClock()` of `@pgque/worker/testing`; `Clock` says for what. A worker with a clock of its own runs schedules by
   * itself alone: it sends their messages when its clock says so, and neither asks nor tells the database what was run. Default: the
   * system's, and for schedules the database's.
   */
  clock?: Clock | undefined;
  /**
   * What runs around each call of the handler, the first outermost, in its transaction and its span: to time it, to set an AsyncLocalStorage, to make
   * an outcome of an error. See `Middleware`. Default: none.
   */
  middleware?: readonly Middleware<MessageOf<Types>>[] | undefined;
  /** Where to say what happens, such as `console`. Default: warnings and errors on standard error. */
  log?: Logger | undefined;
}

/** Options of a worker whose handler takes many messages at once. */
export interface BatchWorkerOptions<Types extends MessageTypes = MessageTypes> extends Omit<
  WorkerOptions<Types>,
  "batch"
> {
  /** The handler takes all messages of a receive, up to `batchSize` (default 100), in one call. `concurrency` is how many such calls at once. */
  batch: true;
}

/** Every option with its value, and what all parts say what happens to. */
export type ResolvedOptions = {
  [Name in keyof Omit<WorkerOptions, "batch" | "onFailure">]-?: NonNullable<WorkerOptions[Name]>;
} & {
  batch: boolean;
  /** Undefined: not given, which is `block`. */
  onFailure?: "block" | "skip";
  watch: Watch;
  attempts: Attempts;
  /** Told of every failure, before what becomes of the message. Set by the worker itself. */
  onFailed?: (message: Message, error: unknown) => void;
};

/** How many messages a handler of batches is given. */
const batchSize = 100;

/** Options with defaults, or one error with everything that is wrong. `about`: what every line of the log is to have, beside the consumer. */
export function resolveOptions(
  handler: unknown,
  options: WorkerOptions | BatchWorkerOptions,
  about: Fields = {},
): ResolvedOptions {
  const given = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Partial<ResolvedOptions>;
  const concurrency = given.concurrency ?? defaultOptions.concurrency;
  // of a handler of batches: one batch more than are handled
  const prefetch =
    given.prefetch ?? (given.batch ? (concurrency + 1) * (given.batchSize ?? batchSize) : 2 * concurrency);
  const resolved = {
    ...defaultOptions,
    consumer: defaultConsumer,
    listen: true,
    retryBackoff: "exponential",
    retryJitter: true,
    schedules: {},
    clock: systemClock,
    middleware: [],
    log: standardError,
    prefetch,
    batchSize: given.batch ? batchSize : prefetch,
    mode: "shared",
    batch: false,
    transactional: false,
    unknownType: "retry",
    ...given,
  } as ResolvedOptions;
  const problems = optionProblems(handler, given, resolved);
  if (problems.length > 0)
    throw new PgqueError("INVALID_OPTION", `new Worker: ${problems.join("; ")}`, { details: { problems } });
  const log = withFields(guarded(resolved.log), { ...about, consumer: resolved.consumer });
  return { ...resolved, log, watch: new Watch(log), attempts: new Attempts() };
}
