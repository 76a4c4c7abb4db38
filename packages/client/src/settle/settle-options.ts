import { boolean, type Id, id, ids, expecting, show, unchecked, type Check } from "../options/checks.ts";
import { callProblems, problemsOf, type CallOptions, type OptionTable, type OptionsOf } from "../options/option.ts";
import { delayMs } from "../send/send-options.ts";

/** How long a message waits that is given back. Also SQL's. */
export const defaultRetryAfterMs = 60_000;

export const reason = expecting<string | null>(
  "a string",
  (value) => value === undefined || value === null || typeof value === "string",
  { kind: "text" },
);

function array<Entry>(): Check<readonly Entry[]> {
  return expecting("an array", Array.isArray);
}

/** The options of `nack`. */
export const nackOptions = {
  /** How long until they are tried again, in milliseconds; fractions are rounded. 0 to 3153600000000 (100 years). Default: the queue's, or 60000. */
  retryAfterMs: { check: delayMs, absent: "the queue's, or 60000", help: "how long until they are tried again" },
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason: { check: reason, absent: "none", help: "kept with the message when it becomes a dead letter" },
} satisfies OptionTable;

/** Options of `nack`. */
export interface NackOptions extends OptionsOf<typeof nackOptions>, CallOptions {}

/** One message that is done, and its result. */
export interface Result {
  /** Of the message. */
  id: Id;
  /** A value of JSON, of a mebibyte at most. Default: none. */
  result?: unknown;
}

/** The options of `ackWithResults`. */
export const resultsOptions = {
  /** In the transaction that does the messages' work: fails when the lease is lost, as `ackStrict`. Default: false. */
  strict: { check: boolean, default: false, help: "fail when the lease is lost" },
} satisfies OptionTable;

/** Options of `ackWithResults`. */
export interface ResultsOptions extends OptionsOf<typeof resultsOptions>, CallOptions {}

/** Everything wrong with results. */
export function resultsProblems(results: readonly Result[], options: ResultsOptions): string[] {
  if (!Array.isArray(results)) return [`expected \`results\` to be an array, got: ${show(results)}`];
  return [
    ...entryProblems("results", results, { id: null }, { id, result: unchecked() }),
    ...callProblems(options, resultsOptions),
  ];
}

/** One message to be tried again. */
export interface Retry {
  /** Of the message. */
  id: Id;
  /** How long until then, in milliseconds; fractions are rounded. 0 to a hundred years. */
  afterMs: number;
  /** Why: kept with the message when it becomes a dead letter. Default: none. */
  reason?: string | null | undefined;
}

/** One message to come again without using an attempt: it is not yet its time, nothing has failed. */
export interface Snooze {
  /** Of the message. */
  id: Id;
  /** How long until then, in milliseconds; fractions are rounded. 0 to a hundred years. */
  afterMs: number;
}

/** One message to be a dead letter now: to try it again would not help. */
export interface Dead {
  /** Of the message. */
  id: Id;
  /** Why: kept with the dead letter. Default: none. */
  reason?: string | null | undefined;
}

// an unknown name here could be a retry that is acked instead
const settleOptions = {
  /** Tried again later, one attempt further; dead letters when their attempts are used up. Default: none. */
  retry: { check: array<Retry>(), absent: "none", help: "tried again later" },
  /** Given back at once, without using an attempt: a worker that stops returns what it has not begun. Default: none. */
  release: { check: ids, absent: "none", help: "given back at once, without using an attempt" },
  /** Given back for later, without using an attempt, as often as one likes. They wait where a failed message does. Default: none. */
  snooze: { check: array<Snooze>(), absent: "none", help: "given back for later, without using an attempt" },
  /** Dead letters now, whatever attempts they have left. Default: none. */
  dead: { check: array<Dead>(), absent: "none", help: "dead letters now" },
} satisfies OptionTable;

/** How a batch ends. What no list names is acked; no message may be in two of them. */
export interface SettleOptions extends OptionsOf<typeof settleOptions>, CallOptions {}

const retryChecks: Record<keyof Retry, Check> = { id, afterMs: delayMs, reason };
const snoozeChecks: Record<keyof Snooze, Check> = { id, afterMs: delayMs };
const deadChecks: Record<keyof Dead, Check> = { id, reason };

/** Everything wrong with how a batch is to end. */
export function settleProblems(options: SettleOptions): string[] {
  return [...callProblems(options, settleOptions), ...listProblems(options ?? {})];
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

/** A reason is often the message of somebody's error: what Postgres cannot store must not keep a batch from being settled. */
export function storable(reason: string | null | undefined): string | null {
  return reason?.replaceAll("\0", "\u{FFFD}").toWellFormed() ?? null;
}
