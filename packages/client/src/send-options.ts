import type { Headers } from "./message.ts";
import { number, object, show, text, type Check } from "./options.ts";
import { encodeJson } from "./payload.ts";

export interface SendOptions {
  /** A JSON object that travels beside the payload. Default: none. */
  headers?: Headers | undefined;
  /** What kind of message it is, for queues that carry several. Default: `default`. */
  type?: string | undefined;
  /** Deliver it after so many milliseconds: when maintenance next runs, about a second later at most. 0 to 3153600000000 (100 years). Default: at once. */
  delayMs?: number | undefined;
  /** Deliver it at this time, within 100 years; a time in the past means at once. Not together with `delayMs`. */
  at?: Date | undefined;
}

const yearsMs = 36_500 * 86_400_000;

/** How long something may be put off, in milliseconds. */
export const delayMs = number(0, yearsMs);

export const sendChecks: Record<keyof SendOptions, Check> = { headers: object, type: text, delayMs, at: time };

/** Options that are fine by themselves but not together. */
export function dueProblem(options: SendOptions): string | undefined {
  return options?.delayMs !== undefined && options.at !== undefined
    ? "expected `delayMs` or `at`, got both"
    : undefined;
}

/** The options as JSON texts: the headers, an object that says when the message is due, and one with both. Null: none. */
export function encodeSendOptions(
  queue: string,
  { headers, delayMs: delay, at }: SendOptions,
): { headers: string | null; due: string | null; all: string | null } {
  const due =
    delay === undefined ? at && JSON.stringify({ at: at.toISOString() }) : JSON.stringify({ delay: delay / 1000 });
  const encoded = headers === undefined ? undefined : encodeJson(queue, "headers", headers);
  const members = [encoded && `"headers":${encoded}`, due?.slice(1, -1)].filter((member) => member !== undefined);
  return { headers: encoded ?? null, due: due ?? null, all: members.length === 0 ? null : `{${members.join(",")}}` };
}

function time(name: string, value: unknown): string | undefined {
  return value instanceof Date && value.getTime() <= Date.now() + yearsMs
    ? undefined
    : `expected \`${name}\` to be a valid Date within 100 years, got: ${show(value)}`;
}
