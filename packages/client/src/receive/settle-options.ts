import { callChecks, problemsOf, show, type CallOptions, type Check } from "../validation/options.ts";
import { delayMs } from "../send/send-options.ts";

/** How messages are given back. */
export interface NackOptions extends CallOptions {
  /** How long until they are tried again, in milliseconds; fractions are rounded. 0 to a hundred years. Default: the queue's, or 60000. */
  retryAfterMs?: number | undefined;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** One message to be tried again. */
export interface Retry {
  /** Of the message. */
  id: string;
  /** How long until then, in milliseconds; fractions are rounded. 0 to a hundred years. */
  afterMs: number;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** One message to come again without using an attempt: it is not yet its time, nothing has failed. */
export interface Snooze {
  /** Of the message. */
  id: string;
  /** How long until then, in milliseconds; fractions are rounded. 0 to a hundred years. */
  afterMs: number;
}

/** One message to be a dead letter now: to try it again would not help. */
export interface Dead {
  /** Of the message. */
  id: string;
  /** Why: kept with the dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** How a batch ends. What no list names is acked; no message may be in two of them. */
export interface SettleOptions extends CallOptions {
  /** Tried again later, one attempt further; dead letters when their attempts are used up. */
  retry?: readonly Retry[] | undefined;
  /** Given back at once, without using an attempt: a worker that stops returns what it has not begun. */
  release?: readonly string[] | undefined;
  /** Given back for later, without using an attempt, as often as one likes. They wait where a failed message does. */
  snooze?: readonly Snooze[] | undefined;
  /** Dead letters now, whatever attempts they have left. */
  dead?: readonly Dead[] | undefined;
}

/** How long a message waits that is given back. Also SQL's. */
export const defaultRetryAfterMs = 60_000;

export const nackChecks: Record<keyof NackOptions, Check> = { retryAfterMs: delayMs, reason, ...callChecks };
// an unknown name here could be a retry that is acked instead
const settleChecks: Record<keyof SettleOptions, Check> = {
  retry: array,
  release: ids,
  snooze: array,
  dead: array,
  ...callChecks,
};
const retryChecks: Record<keyof Retry, Check> = { id, afterMs: delayMs, reason };
const snoozeChecks: Record<keyof Snooze, Check> = { id, afterMs: delayMs };
const deadChecks: Record<keyof Dead, Check> = { id, reason };

/** The largest id there can be. */
const idMax = 2n ** 63n - 1n;

const isId = (value: unknown): boolean =>
  typeof value === "string" && /^(0|[1-9]\d{0,18})$/.test(value) && (value.length < 19 || BigInt(value) <= idMax);

export function id(name: string, value: unknown): string | undefined {
  return isId(value)
    ? undefined
    : `expected \`${name}\` to be an id, a decimal string from "0" to "${idMax}", got: ${show(value)}`;
}

export function ids(name: string, value: unknown): string | undefined {
  if (!Array.isArray(value)) return `expected \`${name}\` to be an array of ids, got: ${show(value)}`;
  const wrong = value.findIndex((one) => !isId(one));
  return wrong === -1 ? undefined : id(`${name}[${wrong}]`, value[wrong]);
}

function array(name: string, value: unknown): string | undefined {
  return Array.isArray(value) ? undefined : `expected \`${name}\` to be an array, got: ${show(value)}`;
}

/** Everything wrong with how a batch is to end. */
export function settleProblems(options: SettleOptions): string[] {
  return [...problemsOf(options, settleChecks), ...listProblems(options ?? {})];
}

/** What is wrong with each message of the lists; `id` and `afterMs` must be there. */
function listProblems({ retry, snooze, dead }: SettleOptions): string[] {
  return [
    ...entryProblems("retry", retry, { id: null, afterMs: null }, retryChecks),
    ...entryProblems("snooze", snooze, { id: null, afterMs: null }, snoozeChecks),
    ...entryProblems("dead", dead, { id: null }, deadChecks),
  ];
}

function entryProblems(
  list: string,
  entries: readonly object[] | undefined,
  required: Record<string, null>,
  checks: Record<string, Check>,
): string[] {
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: object, i) => {
    const there = entry && Object.entries(entry).filter(([, value]) => value !== undefined);
    const given: unknown = entry && { ...required, ...Object.fromEntries(there) };
    return problemsOf(given, checks).map((problem) => `${list}[${i}]: ${problem}`);
  });
}

export function reason(name: string, value: unknown): string | undefined {
  return value === undefined || value === null || typeof value === "string"
    ? undefined
    : `expected \`${name}\` to be a string, got: ${show(value)}`;
}

/** A reason is often the message of somebody's error: what Postgres cannot store must not keep a batch from being settled. */
export function storable(reason: string | null | undefined): string | null {
  return reason?.replaceAll("\0", "\u{FFFD}").toWellFormed() ?? null;
}
