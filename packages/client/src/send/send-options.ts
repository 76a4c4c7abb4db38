import {
  callable,
  check,
  expecting,
  integer,
  isTime,
  number,
  oneOf,
  show,
  sizedText,
  text,
  type Check,
} from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";
import { isPlain } from "../payload/json.ts";
import type { Headers, MessageTypes, Sent } from "../types.ts";

/**
 * The options of a send to a queue with these types: `type` must be there when the queue names its types. The compiler names the parameter when
 * they are missing, so it is called `optionsWithType`.
 */
export type SendArguments<Types extends MessageTypes, Type, Options> = string extends keyof Types
  ? [options?: Options]
  : [options: Options & { type: Type }];

const dayMs = 86_400_000;

/** Longest that a message may be put off, in milliseconds: a hundred years. */
export const longestDelayMs = 36_500 * dayMs;

/** How long something may be put off, in milliseconds. */
export const delayMs = number(0, longestDelayMs);

const soon = expecting<Date>(
  "a valid Date within 100 years",
  (value) => isTime(value) && value.getTime() <= Date.now() + longestDelayMs,
  { kind: "time" },
);

/** Headers are added to others, for which they must be members: those of a Map or of fetch's Headers are not. */
const headers = expecting<Headers>(
  "a plain object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value) && isPlain(value),
);

const dedupeTtlMs = number(1, 30 * dayMs);

/** What holds for one message and for many alike. */
export const commonOptions = {
  /** A JSON object that travels beside the payload, of at most 65536 bytes as JSON. Default: none. */
  headers: { check: headers, absent: "none", help: "a JSON object beside the payload, of at most 64 KiB as JSON" },
  /** What kind of message it is; one of its types on a queue that names them. Default: `default`. */
  type: { check: text, default: "default", help: "what kind of message it is" },
  /** Deliver it after so many milliseconds: when maintenance next runs, about a second later at most. 0 to 3153600000000 (100 years). Default: 0, at once. */
  delayMs: { check: delayMs, default: 0, help: "deliver it after this time" },
  /** Deliver it at this time, within 100 years; a time in the past means at once. Not together with `delayMs`. Default: at once. */
  at: { check: soon, absent: "at once", help: "deliver it at this time" },
  /** On a queue with `priorities`: higher ones are received first. 0 to 1023, less than `priorities`. Default: 0. */
  priority: { check: integer(0, 1023), default: 0, help: "higher ones are received first, on a queue with priorities" },
  /** On a queue with `partitions`: an ordered consumer handles messages of one key in order. At most 1000 bytes. Default: none. */
  key: { check: sizedText(0, 1000), absent: "none", help: "messages of one key in order, on a queue with partitions" },
  /** On a queue with `allowExpiry`: not delivered from so many milliseconds after it was sent. 1 to 3153600000000 (100 years). Default: always. */
  ttlMs: { check: number(1, longestDelayMs), absent: "always", help: "time to live: not delivered after it" },
  /** On a queue with `allowExpiry`: not delivered from this time on. Not together with `ttlMs`. Default: always. */
  expiresAt: { check: soon, absent: "always", help: "not delivered from this time on" },
  /** Deliveries after the first; then it is a dead letter. 0 to 32000. Default: that of the queue. */
  maxRetries: {
    check: integer(0, 32_000),
    absent: "that of the queue",
    header: "pgque-max-retries",
    help: "deliveries after the first; then it is a dead letter",
  },
  /** In milliseconds: the signal of a handler that takes longer is aborted. 1 to 604800000 (7 days). Default: that of the worker. Not in a batch. */
  timeoutMs: {
    check: integer(1, 7 * dayMs),
    absent: "that of the worker",
    header: "pgque-timeout-ms",
    help: "the signal of a handler that takes longer is aborted",
  },
  /** How long it waits after its first failure, in milliseconds; twice as long after each further one. 0 to 86400000 (a day). Default: that of the worker. */
  retryMinMs: {
    check: integer(0, dayMs),
    absent: "that of the worker",
    header: "pgque-retry-min-ms",
    help: "how long it waits after its first failure, and twice as long after each further one",
  },
  /** Keep what comes of it for so many milliseconds, for `result` to read. 1 to 2592000000 (30 days). Default: not kept. */
  resultTtlMs: {
    check: integer(1, 30 * dayMs),
    absent: "not kept",
    header: "pgque-result-ttl-ms",
    help: "keep what comes of it for so long",
  },
} satisfies OptionTable;

/** The options of `send`. */
export const sendOptions = {
  ...commonOptions,
  /**
   * Of the messages with one key the first is sent; for the others `send` returns its id with `deduplicated`, and sends nothing. 1 to 1000 bytes. Not in a
   * transaction above READ COMMITTED. Default: none.
   */
  dedupeKey: { check: sizedText(1, 1000), absent: "none", help: "of the messages with one key the first is sent" },
  /** How long the key counts. 1 to 2592000000 (30 days). Default: 86400000 (a day). */
  dedupeTtlMs: { check: dedupeTtlMs, default: dayMs, help: "how long the dedupe key counts" },
  /**
   * What becomes of the message that has the key. `keep`: it stays, and this one is not sent. `replace`, on a queue with `allowCancel`: it is
   * cancelled for every consumer that has not received it, and this one is sent and takes the key. `postpone`, with `delayMs` or `at`: it is cancelled
   * likewise and sent anew, as it was, for that time; when it waits for nobody, this one is sent. Default: `keep`.
   */
  ifWaiting: {
    check: oneOf("keep", "replace", "postpone"),
    default: "keep",
    help: "the message that waits with the dedupe key is kept, replaced by this one, or postponed to its time",
  },
} satisfies OptionTable;

/** What a call that sends one message can be given. */
export interface SendOptions extends OptionsOf<typeof sendOptions>, CallOptions {}

/** Of many messages, what holds for each of them. */
export const eachOptions = {
  ...commonOptions,
  /** How long dedupe keys count. 1 to 2592000000 (30 days). Default: 86400000 (a day). */
  dedupeTtlMs: sendOptions.dedupeTtlMs,
} satisfies OptionTable;

export const sendManyOptions = {
  ...eachOptions,
  /** A key for each payload, in their order; null: none. Not together with `key`. Default: none. */
  keys: { check: keysOf(sendOptions.key.check), absent: "none", help: "a key for each payload" },
  /** A dedupe key for each payload, in their order; null: none. At most 1000 different ones. See `dedupeKey` of `send`. Default: none. */
  dedupeKeys: { check: keysOf(sendOptions.dedupeKey.check), absent: "none", help: "a dedupe key for each payload" },
} satisfies OptionTable;

/** What a call that sends many can be given; it holds for each of them. */
export interface SendManyOptions extends OptionsOf<typeof sendManyOptions>, CallOptions {}

/** The options of `sendStream`. */
export const streamOptions = {
  ...eachOptions,
  /** Most messages in one statement. 1 to 100000. Default: 1000. */
  batchSize: { check: integer(1, 100_000), default: 1000, help: "most messages in one statement" },
  /** A statement is also full when its payloads have so many characters of JSON. At least 1. Default: 4194304 (4 Mi). */
  batchCharsMax: {
    check: integer(1, Number.MAX_SAFE_INTEGER),
    default: 4_194_304,
    help: "a statement is also full with so many characters of JSON",
  },
  /** Called after each statement with what became of its messages; the next statement waits for it. Default: none. */
  onSent: {
    check: callable<(sent: Sent[]) => unknown>(),
    absent: "none",
    help: "called after each statement with what became of its messages",
  },
} satisfies OptionTable;

/** What a call that sends a stream can be given; it holds for each message. */
export interface SendStreamOptions extends OptionsOf<typeof streamOptions>, CallOptions {}

/** The type of a message whose sender names none. */
export const defaultType = sendOptions.type.default;

/** Options that are fine by themselves but not together. `keyed`: the queue makes a dedupe key of every payload. */
export function sendConflicts(options: SendOptions & SendManyOptions, keyed: boolean): (string | undefined)[] {
  const both = (one: keyof typeof options, other: keyof typeof options): string | undefined =>
    options?.[one] !== undefined && options[other] !== undefined
      ? `expected \`${one}\` or \`${other}\`, got both`
      : undefined;
  return [
    both("delayMs", "at"),
    both("ttlMs", "expiresAt"),
    both("key", "keys"),
    options?.dedupeTtlMs !== undefined && !keyed && options.dedupeKey === undefined && options.dedupeKeys === undefined
      ? "expected `dedupeTtlMs` together with a dedupe key"
      : undefined,
    options?.ifWaiting !== undefined && !keyed && options.dedupeKey === undefined
      ? "expected `ifWaiting` together with a dedupe key"
      : undefined,
    options?.ifWaiting === "postpone" && options.delayMs === undefined && options.at === undefined
      ? 'expected `ifWaiting: "postpone"` together with `delayMs` or `at`'
      : undefined,
  ];
}

function keysOf(each: Check<string>): Check<readonly (string | null)[]> {
  return check((name, value) => {
    if (!Array.isArray(value)) return `expected \`${name}\` to be an array, got: ${show(value)}`;
    for (const [i, key] of value.entries()) {
      const problem = key === null ? undefined : each(`${name}[${i}]`, key);
      if (problem !== undefined) return problem;
    }
    return undefined;
  });
}
