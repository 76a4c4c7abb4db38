import { boolean, integer, oneOf, type Check } from "../validation/options.ts";

/** Settings of a queue. They take effect when the queue is created; one that exists keeps its own: see `pgque.queues.change`. */
export interface QueueOptions {
  /**
   * A message is delivered at most this often again, then becomes a dead letter. 0 to 32000. Default: 20, which outlasts an outage of four and a
   * half hours with a worker's default backoff; 5 for a queue created in SQL.
   */
  maxRetries?: number | undefined;
  /** A message that has ended so many processes becomes a dead letter. 1 to 1000. Default: 3. */
  maxCrashes?: number | undefined;
  /** A segment is full at this size and the next one takes over. At least 8192. Default: 67108864 (64 MiB). */
  rotationBytes?: number | undefined;
  /** … or this long after its first message. At least 1. Default: 600000 (10 min). */
  rotationPeriodMs?: number | undefined;
  /** … but never within this long of the last rotation. Default: 30000. */
  rotationMinIntervalMs?: number | undefined;
  /** How long what every consumer is done with is kept, for consumers that start at a time in the past. 0 to 315360000000 (10 years). Default: 0. */
  retentionMs?: number | undefined;
  /** How old the oldest message may be that a consumer has not received: then `maxLagAction`. At least 1. Default: no limit. */
  maxLagMs?: number | undefined;
  /**
   * `warn`: a warning in the server's log whenever a segment is full. `drop`: the consumer is dropped, and what was kept for it given up; its
   * receives fail with CONSUMER_NOT_FOUND. Default: `warn`.
   */
  maxLagAction?: "warn" | "drop" | undefined;
  /** Largest payload, in bytes of its JSON text. 1 to 1000000000. Default: 1048576 (1 MiB); a queue created in SQL has no limit. */
  payloadBytesMax?: number | undefined;
  /** Whether senders wake idle workers by NOTIFY. False for senders in two-phase commits, which must not: workers then poll. Default: true. */
  notify?: boolean | undefined;
  /**
   * Messages have keys, and an ordered consumer handles the messages of one key in order. So many keys are handled at once. 1 to 1024, 16 suits
   * most. Cannot be set later; can be raised when the queue is drained. Not together with `priorities`. Default: none, messages have no keys.
   */
  partitions?: number | undefined;
  /**
   * Messages have priorities from 0, the lowest, to one less than this, and higher ones are received first. 1 to 1024. Cannot be set later; can be
   * raised. Not together with `partitions`. Default: none, messages have no priorities.
   */
  priorities?: number | undefined;
  /** Every so many batches the lowest priority comes first. At least 2. Default: never. */
  lowPriorityEvery?: number | undefined;
  /** Whether messages may be sent with `ttlMs` or `expiresAt`. Default: false. */
  allowExpiry?: boolean | undefined;
}

/** What `ensure` gives a queue whose definition does not say. SQL's own defaults are PgQue's. */
const ensureDefaults = { maxRetries: 20, payloadBytesMax: 1_048_576 } as const satisfies QueueOptions;

/** The settings with which `ensure` creates a queue. */
export function settingsOfNew(options: QueueOptions): QueueOptions {
  return {
    ...options,
    maxRetries: options.maxRetries ?? ensureDefaults.maxRetries,
    payloadBytesMax: options.payloadBytesMax ?? ensureDefaults.payloadBytesMax,
  };
}

export const queueChecks: Record<keyof QueueOptions, Check> = {
  maxRetries: integer(0, 32_000),
  maxCrashes: integer(1, 1000),
  rotationBytes: integer(8192, Number.MAX_SAFE_INTEGER),
  rotationPeriodMs: integer(1, Number.MAX_SAFE_INTEGER),
  rotationMinIntervalMs: integer(0, Number.MAX_SAFE_INTEGER),
  retentionMs: integer(0, 3650 * 86_400_000),
  maxLagMs: integer(1, 3650 * 86_400_000),
  maxLagAction: oneOf("warn", "drop"),
  payloadBytesMax: integer(1, 1_000_000_000),
  notify: boolean,
  partitions: integer(1, 1024),
  priorities: integer(1, 1024),
  lowPriorityEvery: integer(2, 2_147_483_647),
  allowExpiry: boolean,
};

/** The settings in the words of the SQL functions `create_queue` and `change_queue`; null stays null. */
export function sqlOptions(options: { [Name in keyof QueueOptions]?: QueueOptions[Name] | null }): Record<
  string,
  unknown
> {
  return {
    max_retries: options.maxRetries,
    max_crashes: options.maxCrashes,
    rotation_bytes: options.rotationBytes,
    rotation_period: milliseconds(options.rotationPeriodMs),
    rotation_min_interval: milliseconds(options.rotationMinIntervalMs),
    retention: milliseconds(options.retentionMs),
    max_lag: milliseconds(options.maxLagMs),
    max_lag_action: options.maxLagAction,
    payload_bytes_max: options.payloadBytesMax,
    notify: options.notify,
    partitions: options.partitions,
    priorities: options.priorities,
    low_priority_every: options.lowPriorityEvery,
    allow_expiry: options.allowExpiry,
  };
}

function milliseconds(value: number | null | undefined): string | null | undefined {
  return typeof value === "number" ? `${value} milliseconds` : value;
}
