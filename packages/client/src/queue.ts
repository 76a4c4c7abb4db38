import type { StandardSchemaV1 } from "@standard-schema/spec";
import { field } from "./field.ts";
import { boolean, integer, name as queueName, oneOf, problemsOf, refuse, show, type Check } from "./options.ts";

/** Settings of a queue. They take effect when the queue is created; one that exists keeps its own. */
export interface QueueOptions {
  /** A message is delivered at most this often again, then becomes a dead letter. 0 to 32000. Default: 5. */
  maxRetries?: number | undefined;
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
  /** Largest payload, in bytes of its JSON text. 1 to 1000000000. Default: 1048576 (1 MiB). */
  payloadBytesMax?: number | undefined;
  /** Whether senders wake idle workers by NOTIFY. False for senders in two-phase commits, which must not: workers then poll. Default: true. */
  wake?: boolean | undefined;
  /**
   * `priority`: higher priorities are received first. `key`: an ordered consumer handles the messages of one key in order. Cannot be changed
   * later. Default: neither.
   */
  laneBy?: "priority" | "key" | undefined;
  /** How many priorities, or how many messages of different keys an ordered consumer handles at once. 1 to 1024. Default: 10 by priority, 16 by key. */
  lanes?: number | undefined;
  /** Every so many batches the lowest priority comes first. At least 2. Default: never. */
  lowestFirstEvery?: number | undefined;
  /** Whether messages may be sent with `expiresAfterMs` or `expiresAt`. Default: false. */
  expiry?: boolean | undefined;
}

/** What `defineQueue` takes: the settings, and the schema of the payload. */
export interface QueueDefinition<Schema extends StandardSchemaV1> extends QueueOptions {
  /**
   * What a payload looks like: any Standard Schema (zod, valibot, arktype, …). Payloads are checked when they are sent and again
   * when they are received, as the JSON that they are then: a date is a string. Default: any JSON, typed `unknown`.
   */
  payload?: Schema | undefined;
}

/** A queue as the application knows it: its name, settings and payload type. Makes no connection and creates nothing. */
export interface Queue<Input = unknown, Output = Input> {
  readonly name: string;
  readonly options: Readonly<QueueOptions>;
  readonly payload: StandardSchemaV1<Input, Output> | undefined;
}

const checks: Record<keyof QueueDefinition<StandardSchemaV1>, Check> = {
  payload: standardSchema,
  maxRetries: integer(0, 32_000),
  rotationBytes: integer(8192, Number.MAX_SAFE_INTEGER),
  rotationPeriodMs: integer(1, Number.MAX_SAFE_INTEGER),
  rotationMinIntervalMs: integer(0, Number.MAX_SAFE_INTEGER),
  retentionMs: integer(0, 3650 * 86_400_000),
  maxLagMs: integer(1, 3650 * 86_400_000),
  maxLagAction: oneOf("warn", "drop"),
  payloadBytesMax: integer(1, 1_000_000_000),
  wake: boolean,
  laneBy: oneOf("priority", "key"),
  lanes: integer(1, 1024),
  lowestFirstEvery: integer(2, 2_147_483_647),
  expiry: boolean,
};

/**
 * Describes a queue, once, for senders and receivers. What is sent is the schema's input, what is received its output.
 *
 * @param name any Unicode, 1 to 57 bytes of UTF-8
 * @throws PgqueError INVALID_OPTION naming everything that is wrong
 */
export function defineQueue<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown, unknown>>(
  name: string,
  definition?: QueueDefinition<Schema>,
): Queue<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>>;
export function defineQueue(name: string, definition: QueueDefinition<StandardSchemaV1> = {}): Queue {
  refuse(`defineQueue(${show(name)})`, [queueName("name", name), ...problemsOf(definition, checks)]);
  const { payload, ...options } = definition;
  return Object.freeze({ name, options: Object.freeze(options), payload });
}

function standardSchema(name: string, value: unknown): string | undefined {
  const standard = field(value, "~standard");
  return field(standard, "version") === 1 && typeof field(standard, "validate") === "function"
    ? undefined
    : `expected \`${name}\` to be a Standard Schema (zod, valibot, arktype, …), got: ${show(value)}`;
}

/** The settings in the words of the SQL function `create_queue`. */
export function sqlOptions(options: QueueOptions): Record<string, unknown> {
  return {
    max_retries: options.maxRetries,
    rotation_bytes: options.rotationBytes,
    rotation_period: milliseconds(options.rotationPeriodMs),
    rotation_min_interval: milliseconds(options.rotationMinIntervalMs),
    retention: milliseconds(options.retentionMs),
    max_lag: milliseconds(options.maxLagMs),
    max_lag_action: options.maxLagAction,
    payload_bytes_max: options.payloadBytesMax,
    wake: options.wake,
    lane_by: options.laneBy,
    lanes: options.lanes,
    lowest_first_every: options.lowestFirstEvery,
    expiry: options.expiry,
  };
}

function milliseconds(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value} milliseconds`;
}
