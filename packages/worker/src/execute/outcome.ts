import { inspect } from "node:util";
import { longestDelayMs, PgqueError, type Message } from "@pgque/client";
import { resultJson, sendOptions } from "@pgque/client/options";
import type { Clock } from "../clock.ts";
import { formatError } from "./format-error.ts";

/** What became of a message. `error`: what was thrown, if anything was. `reply`: its result as JSON, null for none; only if its sender wants to know. */
export type Outcome =
  | { readonly kind: "done"; readonly reply?: string | null }
  | { readonly kind: "release" }
  | { readonly kind: "cancel" }
  | { readonly kind: "retry"; readonly afterMs: number; readonly reason: string; readonly error?: unknown }
  | { readonly kind: "snooze"; readonly afterMs: number }
  | { readonly kind: "dead"; readonly reason: string; readonly error?: unknown };

/** Of a message whose sender wants to know what came of it. */
const resultHeader = sendOptions.resultTtlMs.header;

/** Those that say nothing more, made once. */
export const doneOutcome: Outcome = { kind: "done" };
export const releasedOutcome: Outcome = { kind: "release" };
export const cancelledOutcome: Outcome = { kind: "cancel" };

/** The same as a handler says it: a time of day stays one until the worker's clock makes milliseconds of it. */
type Said =
  | { readonly kind: "done"; readonly result: unknown }
  | Exclude<Outcome, { afterMs: number } | { kind: "done" }>
  | ({ readonly kind: "retry"; readonly reason: string } & When)
  | ({ readonly kind: "snooze" } & When);

/** What a handler returns when its message is not simply done: the value of `retry`, `snooze` or `deadLetter`. */
export interface HandlerOutcome {
  readonly outcome: Said;
}

/** So that nothing else that a handler happens to return is taken for one, and any copy of the package serves. */
const brand = Symbol.for("pgque.outcome");

/** When: so many milliseconds from now, or at a time; one that is over means at once. */
export type When = { afterMs: number; at?: undefined } | { at: Date; afterMs?: undefined };

/**
 * The message is done: what returning nothing means, too.
 *
 * @param result for whoever has sent it with `call`, or with `resultTtlMs`: a value of JSON, of a mebibyte at most. It is kept if and only if the message is
 *   settled. One that is no JSON fails the handler. Default: none
 * @example
 * return done({ rows: 3 });
 */
export function done(result?: unknown): HandlerOutcome {
  return made({ kind: "done", result });
}

/**
 * The message is to be tried again then, one attempt further; it becomes a dead letter when its attempts are used up.
 *
 * @param reason kept with the dead letter
 * @throws PgqueError INVALID_OPTION
 * @example
 * return retry({ afterMs: 60_000 }, "the gateway said 429");
 */
export function retry(when: When, reason = "the handler asked for a retry"): HandlerOutcome {
  return made({ kind: "retry", reason: inWords(reason), ...checked("retry", when) });
}

/**
 * The message is to be handed out again then, without using an attempt: it is not its turn yet.
 *
 * @throws PgqueError INVALID_OPTION
 * @example
 * return snooze({ at: opensAt });
 */
export function snooze(when: When): HandlerOutcome {
  return made({ kind: "snooze", ...checked("snooze", when) });
}

/**
 * The message becomes a dead letter now, whatever attempts it has left. To throw an `UnrecoverableError` does the same.
 *
 * @param reason kept with it
 * @example
 * return deadLetter("no such customer");
 */
export function deadLetter(reason: string): HandlerOutcome {
  return made({ kind: "dead", reason: inWords(reason) });
}

/**
 * The outcome that a handler returned for this message, as of now; undefined when it is none.
 *
 * @throws PgqueError PAYLOAD_NOT_JSON, INVALID_ARGUMENT for a result that cannot be kept
 */
export function outcomeOf(value: unknown, message: Message | undefined, clock: Clock): Outcome | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, brand)) return undefined;
  const { outcome } = value as HandlerOutcome;
  if (outcome.kind === "done") return doneWith(outcome.result, message);
  if (outcome.kind !== "retry" && outcome.kind !== "snooze") return outcome;
  const { at, ...rest } = outcome;
  if (at === undefined) return rest as Outcome;
  return { ...rest, afterMs: Math.min(longestDelayMs, Math.max(0, at.getTime() - clock.now())) };
}

/** Done, with this result where the sender wants to know. */
export function doneWith(result: unknown, message: Message | undefined): Outcome {
  if (message?.headers[resultHeader] === undefined) return doneOutcome;
  return { kind: "done", reply: resultJson(result) };
}

/** A reason that is no text, which JavaScript lets through, must not keep the message from being settled. */
const inWords = (reason: unknown): string => (typeof reason === "string" ? reason : formatError(reason));

function made(outcome: Said): HandlerOutcome {
  return Object.freeze({ [brand]: true, outcome });
}

function checked(name: string, when: When): When {
  const { afterMs, at } = (when ?? {}) as { afterMs?: unknown; at?: unknown };
  if (at === undefined && typeof afterMs === "number" && afterMs >= 0 && afterMs <= longestDelayMs) return { afterMs };
  if (afterMs === undefined && at instanceof Date && at.getTime() - Date.now() <= longestDelayMs) return { at };
  throw new PgqueError(
    "INVALID_OPTION",
    `${name}: expected \`afterMs\` from 0 to ${longestDelayMs} or a valid Date \`at\`, got: ${inspect(when)}`,
  );
}
