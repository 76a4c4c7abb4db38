import { boolean, integer, oneOf } from "../options/checks.ts";
import type { ChangesOf, OptionTable, OptionsOf } from "../options/option.ts";

const yearMs = 365 * 86_400_000;

/** The settings of a queue. A default is the one with which `ensure` creates it; where that of SQL is another, `defaultInSql` says so. */
export const queueOptions = {
  /**
   * A message is delivered at most this often again, then becomes a dead letter. 0 to 32000. Default: 20, which outlasts an outage of four and a
   * half hours with a worker's default backoff; 5 for a queue created in SQL.
   */
  maxRetries: {
    check: integer(0, 32_000),
    default: 20,
    defaultInSql: 5,
    help: "deliveries after the first; then a message is a dead letter",
  },
  /** A message that has ended so many processes becomes a dead letter. 1 to 1000. Default: 3. */
  maxCrashes: {
    check: integer(1, 1000),
    default: 3,
    help: "a message that has ended so many processes is a dead letter",
  },
  /**
   * Messages have keys, and an ordered consumer handles the messages of one key in order. So many keys are handled at once. 1 to 1024, 16 suits
   * most. Cannot be set later; can be raised when the queue is drained. Not together with `priorities`. Default: none, messages have no keys.
   */
  partitions: {
    check: integer(1, 1024),
    absent: "none",
    help: "messages have keys, and so many keys are handled at once; can only be raised later",
  },
  /**
   * Messages have priorities from 0, the lowest, to one less than this, and higher ones are received first. 1 to 1024. Cannot be set later; can be
   * raised. Not together with `partitions`. Default: none, messages have no priorities.
   */
  priorities: {
    check: integer(1, 1024),
    absent: "none",
    help: "messages have so many priorities; can only be raised later",
  },
  /** Every so many batches the lowest priority comes first. At least 2. Default: never. */
  lowPriorityEvery: {
    check: integer(2, 2_147_483_647),
    absent: "never",
    help: "every so many batches the lowest priority comes first",
  },
  /** Whether messages may be sent with `ttlMs` or `expiresAt`. Cannot be switched off again. Default: false. */
  allowExpiry: {
    check: boolean,
    default: false,
    help: "whether messages may have a time to live; cannot be switched off",
  },
  /**
   * Whether messages can be cancelled: each send then writes another index entry. Cannot be changed later. Default: false.
   */
  allowCancel: {
    check: boolean,
    default: false,
    help: "whether messages can be cancelled; cannot be changed later",
  },
  /** Largest payload, in bytes of its JSON text. 1 to 1000000000. Default: 1048576 (1 MiB); 1000000000 for a queue created in SQL. */
  payloadBytesMax: {
    check: integer(1, 1_000_000_000),
    default: 1_048_576,
    defaultInSql: 1_000_000_000,
    help: "largest payload, as JSON text",
  },
  /** Whether senders wake idle workers by NOTIFY. False for senders in two-phase commits, which must not: workers then poll. Default: true. */
  notify: {
    check: boolean,
    default: true,
    help: "whether senders wake idle workers; false for senders in two-phase commits",
  },
  /** How long what every consumer is done with is kept, for consumers that start at a time in the past. 0 to 315360000000 (10 years). Default: 0. */
  retentionMs: {
    check: integer(0, 10 * yearMs),
    default: 0,
    help: "how long messages are kept that every consumer is done with, for replay",
  },
  /** How old the oldest message may be that a consumer has not received: then `maxLagAction`. 1 to 315360000000 (10 years). Default: no limit. */
  maxLagMs: {
    check: integer(1, 10 * yearMs),
    absent: "no limit",
    help: "how far a consumer may lag behind",
  },
  /**
   * `warn`: a warning in the server's log whenever a segment is full. `drop`: the consumer is dropped, and what was kept for it given up; its
   * receives fail with CONSUMER_NOT_FOUND. Default: `warn`.
   */
  maxLagAction: {
    check: oneOf("warn", "drop"),
    default: "warn",
    help: "of a consumer that lags further: a warning in the server's log, or the consumer is dropped",
  },
  /** A segment is full at this size and the next one takes over. At least 8192. Default: 67108864 (64 MiB). */
  rotationBytes: {
    check: integer(8192, Number.MAX_SAFE_INTEGER),
    default: 67_108_864,
    help: "a segment is full at this size",
  },
  /** A segment is full this long after its first message, too. At least 1. Default: 600000 (10 min). */
  rotationPeriodMs: {
    check: integer(1, Number.MAX_SAFE_INTEGER),
    default: 600_000,
    help: "a segment is full this long after its first message",
  },
  /** Shortest time between two rotations. At least 0. Default: 30000 (30 s). */
  rotationMinIntervalMs: {
    check: integer(0, Number.MAX_SAFE_INTEGER),
    default: 30_000,
    help: "shortest time between two rotations",
  },
} satisfies OptionTable;

/** Settings of a queue. They take effect when the queue is created; one that exists keeps its own: see `pgque.queues.change`. */
export interface QueueOptions extends OptionsOf<typeof queueOptions> {}

/** What can be changed of a queue. Null: the default with which `ensure` creates a queue. */
export interface QueueChanges extends ChangesOf<typeof queueOptions> {}

/** Every setting of a queue; null: none, such as no limit. */
export type QueueSettings = { [Name in keyof QueueOptions]-?: NonNullable<QueueOptions[Name]> | null };

/** The settings with which `ensure` creates a queue: those of SQL are PgQue's. */
export function settingsOfNew(options: QueueOptions): QueueOptions {
  const { maxRetries, payloadBytesMax } = queueOptions;
  return {
    ...options,
    maxRetries: options.maxRetries ?? maxRetries.default,
    payloadBytesMax: options.payloadBytesMax ?? payloadBytesMax.default,
  };
}
