import type { Headers } from "./message.ts";
import { integer, number, object, show, text, type Check } from "./options.ts";
import { encodeJson } from "./payload.ts";

/** What holds for one message and for many alike. */
interface CommonSendOptions {
  /** A JSON object that travels beside the payload. Default: none. */
  headers?: Headers | undefined;
  /** What kind of message it is, for queues that carry several. Default: `default`. */
  type?: string | undefined;
  /** Deliver it after so many milliseconds: when maintenance next runs, about a second later at most. 0 to 3153600000000 (100 years). Default: at once. */
  delayMs?: number | undefined;
  /** Deliver it at this time, within 100 years; a time in the past means at once. Not together with `delayMs`. */
  at?: Date | undefined;
  /** On a queue with `laneBy: "priority"`: higher ones are received first. 0 to `lanes` - 1. Default: 0. */
  priority?: number | undefined;
  /** On a queue with `laneBy: "key"`: an ordered consumer handles messages of one key in order. At most 1000 bytes. Default: none. */
  key?: string | undefined;
  /** On a queue with `expiry`: not delivered from so many milliseconds after it was sent. 1 to 3153600000000 (100 years). Default: always. */
  expiresAfterMs?: number | undefined;
  /** … or from this time on. Not together with `expiresAfterMs`. */
  expiresAt?: Date | undefined;
}

export interface SendOptions extends CommonSendOptions {
  /**
   * Of the messages with one key the first is sent; for the others `send` returns its id and sends nothing. 1 to 1000 bytes. Not in a
   * transaction above READ COMMITTED. Default: none.
   */
  dedupeKey?: string | undefined;
  /** How long the key counts. 1 to 2592000000 (30 days). Default: 86400000 (a day). */
  dedupeTtlMs?: number | undefined;
}

export interface SendManyOptions extends CommonSendOptions {
  /** A key for each payload, in their order; null: none. Not together with `key`. */
  keys?: readonly (string | null)[] | undefined;
}

const dayMs = 86_400_000;
const yearsMs = 36_500 * dayMs;

/** How long something may be put off, in milliseconds. */
export const delayMs = number(0, yearsMs);

const common: Record<keyof CommonSendOptions, Check> = {
  headers: object,
  type: text,
  delayMs,
  at: time,
  priority: integer(0, 1023),
  key: shortText(0),
  expiresAfterMs: number(1, yearsMs),
  expiresAt: time,
};

export const sendChecks: Record<keyof SendOptions, Check> = {
  ...common,
  dedupeKey: shortText(1),
  dedupeTtlMs: number(1, 30 * dayMs),
};

export const sendManyChecks: Record<keyof SendManyOptions, Check> = { ...common, keys };

/** Options that are fine by themselves but not together. */
export function sendConflicts(options: SendOptions & SendManyOptions): (string | undefined)[] {
  const both = (one: keyof typeof options, other: keyof typeof options): string | undefined =>
    options?.[one] !== undefined && options[other] !== undefined
      ? `expected \`${one}\` or \`${other}\`, got both`
      : undefined;
  return [
    both("delayMs", "at"),
    both("expiresAfterMs", "expiresAt"),
    both("key", "keys"),
    options?.dedupeTtlMs !== undefined && options.dedupeKey === undefined
      ? "expected `dedupeTtlMs` together with `dedupeKey`"
      : undefined,
  ];
}

/** The headers as a JSON text, the other options as one, and one with both. Null: none. */
export function encodeSendOptions(
  queue: string,
  { headers, ...options }: SendOptions & SendManyOptions,
): { headers: string | null; rest: string | null; all: string | null } {
  const rest = JSON.stringify({
    delay: seconds(options.delayMs),
    at: options.at,
    priority: options.priority,
    key: options.key,
    keys: options.keys,
    expires_after: seconds(options.expiresAfterMs),
    expires_at: options.expiresAt,
    dedupe_key: options.dedupeKey,
    dedupe_ttl: seconds(options.dedupeTtlMs),
  }).slice(1, -1);
  const encoded = headers === undefined ? undefined : encodeJson(queue, "headers", headers);
  const members = [encoded && `"headers":${encoded}`, rest].filter(Boolean);
  return {
    headers: encoded ?? null,
    rest: rest === "" ? null : `{${rest}}`,
    all: members.length === 0 ? null : `{${members.join(",")}}`,
  };
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

function time(name: string, value: unknown): string | undefined {
  return value instanceof Date && value.getTime() <= Date.now() + yearsMs
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

function keys(name: string, value: unknown): string | undefined {
  if (!Array.isArray(value)) return `expected \`${name}\` to be an array, got: ${show(value)}`;
  for (const [i, key] of value.entries()) {
    const problem = key === null ? undefined : common.key(`${name}[${i}]`, key);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
