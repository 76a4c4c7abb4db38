import type { Message, MessageOf, MessageTypes } from "@pgque/client";
import {
  boolean,
  expecting,
  integer,
  name,
  oneOf,
  receiveOptions,
  unchecked,
  withMethods,
  type OptionsOf,
  type OptionTable,
} from "@pgque/client/options";
import { systemClock, type Clock } from "./clock.ts";
import type { Middleware } from "./execute/middleware.ts";
import { standardError, type Logger } from "./log.ts";
import type { DeclaredSchedules } from "./schedule/declared.ts";

const dayMs = 86_400_000;

/** How long a failed message waits, in milliseconds. */
type Backoff = (attempt: number, error: unknown, message: Message) => number;

const backoff = expecting<"exponential" | "fixed" | Backoff>(
  '"exponential", "fixed" or a function',
  (value) => value === "exponential" || value === "fixed" || typeof value === "function",
);

const middlewareCheck = expecting<readonly Middleware<never>[]>(
  "an array of functions",
  (value) => Array.isArray(value) && value.every((one) => typeof one === "function"),
);

/** The options of `new Worker`. */
export const workerOptions = {
  /** Handlers at once in this worker. 1 to 10000. Default: 10. */
  concurrency: {
    check: integer(1, 10_000),
    default: 10,
    help: "handlers at once",
  },
  /** Most messages received and not handled yet, those being handled included. At least `concurrency`, at most 100000. Default: twice `concurrency`, with `batch` `batchSize` times one more than `concurrency`. */
  prefetch: {
    check: integer(1, 100_000),
    absent: "twice `concurrency`; with `batch`, `batchSize` times one more",
    help: "most messages received and not handled yet",
  },
  /**
   * Most bytes of payloads, as UTF-8, received and not handled yet: no more is received while there are so many, so it is less than this and one
   * message. 1 to 2147483647. Default: 16777216 (16 MiB).
   */
  prefetchBytes: {
    check: integer(1, 2 ** 31 - 1),
    default: 16_777_216,
    help: "no more is received while payloads have so many bytes",
  },
  /**
   * Most messages in one batch, which is settled in one call. 1 to 100000. Small batches cost more calls; when a worker crashes, what it
   * had handled of its open batches within the last second or so comes again. Default: `prefetch`.
   */
  batchSize: {
    check: integer(1, 100_000),
    absent: "`prefetch`; 100 with `batch`",
    help: "most messages in one batch, which is settled in one call",
  },
  /** The consumer to receive for, shared by all its workers. Any Unicode, 1 to 57 bytes. Default: `default`. */
  consumer: {
    check: name,
    default: receiveOptions.consumer.default,
    help: "consumer to receive for",
  },
  /** How long a batch is this worker's without a heartbeat, in milliseconds. 1000 to 604800000 (7 days). Default: 30000. */
  leaseMs: {
    check: integer(1000, 7 * dayMs),
    default: 30_000,
    help: "how long a batch is this worker's without a heartbeat",
  },
  /**
   * A heartbeat every so many milliseconds, while there is something to keep, that counts for three times as long. A crashed worker's messages
   * come back when both this and `leaseMs` have run out. A handler that blocks the event loop for longer than that loses its message to
   * another worker. 100 to 3600000, at most `leaseMs`. Default: 5000.
   */
  heartbeatIntervalMs: {
    check: integer(100, 3_600_000),
    default: 5000,
    help: "time between heartbeats, each of which counts for three times as long",
  },
  /**
   * Whether to be woken by what is sent, on a connection of its own outside of the pool. Where notifications do not arrive, behind a
   * transaction pooler, the worker finds out and polls. Default: true.
   */
  listen: {
    check: boolean,
    default: true,
    help: "whether to be woken, on a connection outside of the pool",
  },
  /** How often a worker that can be woken looks for messages nevertheless, in milliseconds. 1 to 600000. Default: 5000. */
  fallbackPollMs: {
    check: integer(1, 600_000),
    default: 5000,
    help: "how often a worker that can be woken looks nevertheless",
  },
  /** Shortest wait of a worker that polls, in milliseconds. 1 to 60000. Default: 25. */
  pollMinMs: {
    check: integer(1, 60_000),
    default: 25,
    help: "shortest wait of a worker that polls",
  },
  /** Longest wait of a worker that polls, in milliseconds: while there is nothing, its wait doubles; the first message brings it back. `pollMinMs` to 600000. Default: 1000. */
  pollMaxMs: {
    check: integer(1, 600_000),
    default: 1000,
    help: "longest wait of a worker that polls",
  },
  /**
   * `shared`: its workers take messages as they come. `ordered`, on a queue with `partitions`: messages of one key are handled one after the
   * other, by any number of workers; `concurrency` is then how many keys' lanes at once. Default: `shared`.
   */
  mode: {
    check: oneOf("shared", "ordered"),
    default: "shared",
    help: "messages as they come, or those of one key in order",
  },
  /** Of an ordered consumer: what is behind a failed message waits for it, or goes on. Counts when the consumer is made. Default: `block`. */
  onFailure: {
    check: oneOf("block", "skip"),
    absent: "`block`",
    help: "of an ordered consumer: what is behind a failed message waits for it, or goes on",
  },
  /** Documented in `WorkerOptions`, which knows what the handler takes. Default: false. */
  batch: {
    check: boolean,
    default: false,
    help: "whether the handler takes many messages at once",
  },
  /**
   * Whether each call of the handler is in a transaction, `context.tx`, that commits with the ack: what it writes there happens exactly once. It
   * takes a connection of the pool for as long as it runs, and holds the horizon for your other tables. Of the pool's `max` connections one is left
   * for all else: no more than the others run at once. Default: false.
   */
  transactional: {
    check: boolean,
    default: false,
    help: "whether each call of the handler is in a transaction that commits with the ack",
  },
  /** What becomes of messages of a type that there is no handler for: tried again, for a newer version of the worker; acked; dead letters. Default: `retry`. */
  unknownType: {
    check: oneOf("retry", "ack", "deadLetter"),
    default: "retry",
    help: "what becomes of messages of a type without a handler",
  },
  /**
   * In milliseconds: the signal of a handler that takes longer is aborted. What it comes to within a second after that counts; otherwise the message is
   * tried again, the connection of its transaction is cut, and a handler that does not heed the signal goes on and keeps its place. 1 to 604800000 (7 days). Default: none.
   */
  timeoutMs: {
    check: integer(1, 7 * dayMs),
    absent: "none",
    help: "the signal of a handler that takes longer is aborted",
  },
  /** A failed message that was sent longer ago becomes a dead letter, in milliseconds. 1 to 315360000000 (10 years). Default: none. */
  maxAgeMs: {
    check: integer(1, 3650 * dayMs),
    absent: "none",
    help: "a failed message that was sent longer ago becomes a dead letter",
  },
  /** How long a failed message waits before it is tried again, in milliseconds. 0 to 86400000 (a day). Default: 1000 (1 s). */
  retryMinMs: {
    check: integer(0, dayMs),
    default: 1000,
    help: "how long a failed message waits before it is tried again",
  },
  /**
   * How that wait grows: with `exponential` twice as long after each attempt, with `fixed` always as long, or as many milliseconds as a function of
   * attempt, error and message says, without `retryMinMs` and jitter. Default: `exponential`.
   */
  retryBackoff: {
    check: backoff,
    default: "exponential",
    help: "how that wait grows with each attempt, or a function",
  },
  /** Longest wait of a failed message, in milliseconds. `retryMinMs` to 86400000 (a day). Default: 3600000 (an hour). */
  retryMaxMs: {
    check: integer(0, dayMs),
    default: 3_600_000,
    help: "longest wait of a failed message",
  },
  /** Whether that wait is multiplied by a random number from 0.5 to 1, so that what failed together does not come back together. Default: true. */
  retryJitter: {
    check: boolean,
    default: true,
    help: "whether that wait is shortened by up to a half, at random",
  },
  /**
   * How long the worker waits for the database to answer a call, in milliseconds. Then the call is cancelled, its connection given up and the
   * call made again on another: a connection may be gone without anybody having been told. 1000 to 3600000. Default: 30000.
   */
  queryTimeoutMs: {
    check: integer(1000, 3_600_000),
    default: 30_000,
    help: "how long a call waits for the database before it is made again",
  },
  /** How long `stop()` waits for handlers before it aborts their signal, in milliseconds. 0 to 86400000. Default: 30000. */
  shutdownTimeoutMs: {
    check: integer(0, dayMs),
    default: 30_000,
    help: "how long `stop()` waits for handlers before it aborts their signal",
  },
  /** Every so many milliseconds the queue is maintained: ended leases, due retries, rotation. 100 to 3600000. Default: 1000. */
  maintainIntervalMs: {
    check: integer(100, 3_600_000),
    default: 1000,
    help: "time between two maintenances of the queue",
  },
  /** Documented in `WorkerOptions`, which knows the queue's types. Default: none. */
  schedules: {
    // by resolveOptions: what reads cron expressions is not loaded with the table
    check: unchecked<DeclaredSchedules>(),
    default: {},
    absent: "none",
    help: "schedules of the queue, by name",
  },
  /**
   * What time it is, for tests: `manualClock()` of `@pgque/worker/testing`; `Clock` says for what. A worker with a clock of its own runs schedules by
   * itself alone: it sends their messages when its clock says so, and neither asks nor tells the database what was run. Default: the
   * system's, and for schedules the database's.
   */
  clock: {
    check: withMethods<Clock>("a clock with now and wait", "now", "wait"),
    default: systemClock,
    absent: "the system's",
    help: "what time it is, for tests",
  },
  /** Documented in `WorkerOptions`, which knows the queue's types. Default: none. */
  middleware: {
    check: middlewareCheck,
    default: [],
    absent: "none",
    help: "what runs around each call of the handler",
  },
  /**
   * How many lines of `context.log` are kept of each attempt, for `messages.progress` and `pgque message show`: the first, `debug` apart, for a day. 0 to
   * 1000. Not in a batch. Default: 0.
   */
  keptLogLines: {
    check: integer(0, 1000),
    default: 0,
    help: "how many lines of a handler's log are kept of each attempt, for a day",
  },
  /** Where to say what happens, such as `console`. Default: warnings and errors on standard error. */
  log: {
    check: withMethods<Logger>("a logger with debug, info, warn and error", "debug", "info", "warn", "error"),
    default: standardError,
    absent: "warnings and errors on standard error",
    help: "where to say what happens",
  },
} satisfies OptionTable;

type Declared = OptionsOf<typeof workerOptions>;

/** Options of a worker. `IsBatch`: whether its handler takes many messages at once. */
export interface WorkerOptions<Types extends MessageTypes = MessageTypes, IsBatch extends boolean = false> extends Omit<
  Declared,
  "batch" | "middleware" | "schedules"
> {
  /**
   * Whether the handler takes all messages of a receive, up to `batchSize` (default 100), in one call. `concurrency` is then how many such calls
   * at once. Default: false.
   */
  batch?: IsBatch | undefined;
  /**
   * What runs around each call of the handler, the first outermost, in its transaction and its span: to time it, to set an AsyncLocalStorage, to make
   * an outcome of an error. See `Middleware`. Default: none.
   */
  middleware?: readonly Middleware<MessageOf<Types>>[] | undefined;
  /**
   * Schedules of the queue, by name, set when the worker starts, as with `pgque.schedules.set`: which needs `<schema>_admin` when they are
   * not just like that already. One that is no longer declared stays: remove it with `pgque.schedules.remove`. A worker runs every
   * schedule of its queue, whoever has set it. Default: none.
   */
  schedules?: DeclaredSchedules<Types> | undefined;
}
