import { problemsOf, show, type Check } from "./options.ts";
import { delayMs } from "./send-options.ts";

/** How messages are given back. */
export interface NackOptions {
  /** How long until they are tried again, in milliseconds; fractions are rounded. 0 to a hundred years. Default: 60000. */
  retryAfterMs?: number | undefined;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** One message to be tried again. */
export interface Retry {
  id: bigint;
  /** How long until then, in milliseconds; fractions are rounded. 0 to a hundred years. */
  afterMs: number;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** How a batch ends. What is named in neither list is acked. */
export interface SettleOptions {
  /** Tried again later, one attempt further; dead letters when their attempts are used up. */
  retry?: readonly Retry[] | undefined;
  /** Given back at once, without using an attempt: a worker that stops returns what it has not begun. */
  release?: readonly bigint[] | undefined;
}

export const nackChecks: Record<keyof NackOptions, Check> = { retryAfterMs: delayMs, reason };
// an unknown name here could be a retry that is acked instead
export const settleChecks: Record<keyof SettleOptions, Check> = { retry: array, release: ids };
const retryChecks: Record<keyof Retry, Check> = { id, afterMs: delayMs, reason };

export function id(name: string, value: unknown): string | undefined {
  return typeof value === "bigint" ? undefined : `expected \`${name}\` to be a bigint, got: ${show(value)}`;
}

export function ids(name: string, value: unknown): string | undefined {
  return Array.isArray(value) && value.every((v) => typeof v === "bigint")
    ? undefined
    : `expected \`${name}\` to be an array of bigints, got: ${show(value)}`;
}

function array(name: string, value: unknown): string | undefined {
  return Array.isArray(value) ? undefined : `expected \`${name}\` to be an array, got: ${show(value)}`;
}

/** What is wrong with each retry; `id` and `afterMs` must be there. */
export function retryProblems(retry: readonly Retry[] | undefined): string[] {
  if (!Array.isArray(retry)) return [];
  return retry.flatMap((r: Retry, i) => {
    const given: unknown = r && { ...r, id: r.id ?? null, afterMs: r.afterMs ?? null };
    return problemsOf(given, retryChecks).map((problem) => `retry[${i}]: ${problem}`);
  });
}

function reason(name: string, value: unknown): string | undefined {
  return value === undefined || value === null || typeof value === "string"
    ? undefined
    : `expected \`${name}\` to be a string, got: ${show(value)}`;
}

/** A reason is often the message of somebody's error: what Postgres cannot store must not keep a batch from being settled. */
export function storable(reason: string | null | undefined): string | null {
  return reason?.replaceAll("\0", "\u{FFFD}").toWellFormed() ?? null;
}
