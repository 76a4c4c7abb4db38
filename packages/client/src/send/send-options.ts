import { PgqueError } from "../errors/errors.ts";
import type { MessageTypes } from "../queue/message-types.ts";
import type { Headers } from "../receive/message.ts";
import { callChecks, integer, number, show, text, type CallOptions, type Check } from "../validation/options.ts";
import { isPlain } from "../payload/json.ts";
import { encodeJson } from "../payload/payload.ts";

/** The options of a send to a queue with these types: `type` must be there when the queue names its types. */
export type SendArguments<Types extends MessageTypes, Type, Options> = string extends keyof Types
  ? [options?: Options]
  : [options: Options & { type: Type }];

/** What holds for one message and for many alike. */
interface CommonSendOptions extends CallOptions {
  /** A JSON object that travels beside the payload, of at most 65536 bytes as JSON. Default: none. */
  headers?: Headers | undefined;
  /** What kind of message it is; one of its types on a queue that names them. Default: `default`. */
  type?: string | undefined;
  /** Deliver it after so many milliseconds: when maintenance next runs, about a second later at most. 0 to 3153600000000 (100 years). Default: at once. */
  delayMs?: number | undefined;
  /** Deliver it at this time, within 100 years; a time in the past means at once. Not together with `delayMs`. */
  at?: Date | undefined;
  /** On a queue with `priorities`: higher ones are received first. 0 to `priorities` - 1. Default: 0. */
  priority?: number | undefined;
  /** On a queue with `partitions`: an ordered consumer handles messages of one key in order. At most 1000 bytes. Default: none. */
  key?: string | undefined;
  /** On a queue with `allowExpiry`: not delivered from so many milliseconds after it was sent. 1 to 3153600000000 (100 years). Default: always. */
  ttlMs?: number | undefined;
  /** … or from this time on. Not together with `ttlMs`. */
  expiresAt?: Date | undefined;
}

/** What a call that sends one message can be given. */
export interface SendOptions extends CommonSendOptions {
  /**
   * Of the messages with one key the first is sent; for the others `send` returns its id and sends nothing. 1 to 1000 bytes. Not in a
   * transaction above READ COMMITTED. Default: none.
   */
  dedupeKey?: string | undefined;
  /** How long the key counts. 1 to 2592000000 (30 days). Default: 86400000 (a day). */
  dedupeTtlMs?: number | undefined;
}

/** What a call that sends many can be given; it holds for each of them. */
export interface SendManyOptions extends CommonSendOptions {
  /** A key for each payload, in their order; null: none. Not together with `key`. */
  keys?: readonly (string | null)[] | undefined;
  /** A dedupe key for each payload, in their order; null: none. At most 1000 different ones. See `dedupeKey` of `send`. */
  dedupeKeys?: readonly (string | null)[] | undefined;
  /** How long those keys count. 1 to 2592000000 (30 days). Default: 86400000 (a day). */
  dedupeTtlMs?: number | undefined;
}

/** How many bytes headers may have as JSON text. Also SQL's, which writes a space after each colon and comma. */
const headersBytesMax = 65_536;

const dayMs = 86_400_000;

/** Longest that a message may be put off, in milliseconds: a hundred years. */
export const longestDelayMs = 36_500 * dayMs;

/** How long a dedupe key counts. Also SQL's. */
export const defaultDedupeTtlMs = dayMs;

/** How long something may be put off, in milliseconds. */
export const delayMs = number(0, longestDelayMs);

const common: Record<keyof CommonSendOptions, Check> = {
  headers: plainObject,
  type: text,
  delayMs,
  at: time,
  priority: integer(0, 1023),
  key: shortText(0),
  ttlMs: number(1, longestDelayMs),
  expiresAt: time,
  ...callChecks,
};

export const sendChecks: Record<keyof SendOptions, Check> = {
  ...common,
  dedupeKey: shortText(1),
  dedupeTtlMs: number(1, 30 * dayMs),
};

/** Of many messages, what holds for each of them. */
export const eachChecks: Record<Exclude<keyof SendManyOptions, "keys" | "dedupeKeys">, Check> = {
  ...common,
  dedupeTtlMs: sendChecks.dedupeTtlMs,
};

export const sendManyChecks: Record<keyof SendManyOptions, Check> = {
  ...eachChecks,
  keys: keysOf(common.key),
  dedupeKeys: keysOf(sendChecks.dedupeKey),
};

/** The type of a message whose sender names none. */
export const defaultType = "default";

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
  ];
}

/** The headers as a JSON text, the other options as one, and one with both. Null: none. */
export function encodeSendOptions(
  queue: string,
  { headers, ...options }: Omit<SendOptions & SendManyOptions, "signal">,
): { headers: string | null; rest: string | null; all: string | null } {
  const rest = JSON.stringify({
    delay: seconds(options.delayMs),
    at: options.at,
    priority: options.priority,
    key: options.key,
    keys: options.keys,
    ttl: seconds(options.ttlMs),
    expires_at: options.expiresAt,
    dedupe_key: options.dedupeKey,
    dedupe_keys: options.dedupeKeys,
    dedupe_ttl: seconds(options.dedupeTtlMs),
  }).slice(1, -1);
  const encoded = headers === undefined ? undefined : encodeHeaders(queue, headers);
  const members = [encoded && `"headers":${encoded}`, rest].filter(Boolean);
  return {
    headers: encoded ?? null,
    rest: rest === "" ? null : `{${rest}}`,
    all: members.length === 0 ? null : `{${members.join(",")}}`,
  };
}

/** @throws PgqueError PAYLOAD_NOT_JSON; INVALID_OPTION when they are larger than the database takes */
export function encodeHeaders(queue: string, headers: Headers): string {
  const encoded = encodeJson(queue, "headers", headers);
  const bytes = Buffer.byteLength(encoded);
  if (bytes <= headersBytesMax) return encoded;
  const problem = `expected \`headers\` to have at most ${headersBytesMax} bytes as JSON, got: ${bytes}`;
  throw new PgqueError("INVALID_OPTION", problem, {
    hint: "Nothing was sent: store it in the payload, or elsewhere and send a reference",
    details: { queue, problems: [problem] },
  });
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

/** Headers are added to others, for which they must be members: those of a Map or of fetch's Headers are not. */
function plainObject(name: string, value: unknown): string | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) && isPlain(value)
    ? undefined
    : `expected \`${name}\` to be a plain object, got: ${show(value)}`;
}

function time(name: string, value: unknown): string | undefined {
  return value instanceof Date && value.getTime() <= Date.now() + longestDelayMs
    ? undefined
    : `expected \`${name}\` to be a valid Date within 100 years, got: ${show(value)}`;
}

function shortText(bytesMin: number): Check {
  return (name, value) => {
    const problem = text(name, value);
    if (problem !== undefined) return problem;
    const bytes = Buffer.byteLength(String(value));
    return bytes >= bytesMin && bytes <= 1000
      ? undefined
      : `expected \`${name}\` to have ${bytesMin} to 1000 bytes of UTF-8, got: ${bytes} bytes in ${show(value)}`;
  };
}

function keysOf(check: Check): Check {
  return (name, value) => {
    if (!Array.isArray(value)) return `expected \`${name}\` to be an array, got: ${show(value)}`;
    for (const [i, key] of value.entries()) {
      const problem = key === null ? undefined : check(`${name}[${i}]`, key);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}
