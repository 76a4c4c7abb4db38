import type { Message } from "@pgque/client";
import { headerOptionsOf } from "@pgque/client/options";
import type { Fields } from "../log.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import type { Outcome } from "./outcome.ts";
import { formatError } from "./format-error.ts";
import { isUnrecoverable } from "./unrecoverable-error.ts";

/** What becomes of a message that failed, which is logged. `what`: how; `about`: what the log is to say of the error. */
export function failed(
  message: Message,
  error: unknown,
  options: ResolvedOptions,
  what = "message failed",
  about: Fields = { error },
): Outcome {
  const outcome = outcomeOfFailure(message, error, options);
  const foreseen = options.attempts.foreseen(message, outcome);
  options.log.warn(what, {
    message: message.id,
    attempt: message.attempt,
    ...(foreseen.kind === "retry" ? { retryAfterMs: foreseen.afterMs } : { dead: true }),
    ...about,
  });
  return outcome;
}

function outcomeOfFailure(message: Message, error: unknown, options: ResolvedOptions): Outcome {
  options.onFailed?.(message, error);
  const reason = formatError(error);
  if (isUnrecoverable(error)) return { kind: "dead", reason, error };
  const ageMs = options.clock.now() - message.createdAt.getTime();
  if (ageMs > options.maxAgeMs) {
    return { kind: "dead", reason: `older than ${options.maxAgeMs} ms when it failed: ${reason}`, error };
  }
  return { kind: "retry", afterMs: retryAfterMs(message, error, options), reason, error };
}

type RetryOptions = Pick<ResolvedOptions, "retryMinMs" | "retryBackoff" | "retryMaxMs" | "retryJitter" | "log">;

/** How long until a message that failed is tried again, in whole milliseconds. */
export function retryAfterMs(message: Message, error: unknown, options: RetryOptions): number {
  const { retryBackoff, retryMaxMs, retryJitter } = options;
  const { retryMinMs = options.retryMinMs } = headerOptionsOf(message.headers);
  if (typeof retryBackoff === "function") return chosen(retryBackoff, message, error, options);
  // from attempt 1025 on the factor is infinite, and infinite times nothing is not a number
  const factor = retryBackoff === "exponential" ? Math.min(Number.MAX_VALUE, 2 ** (message.attempt - 1)) : 1;
  const grown = retryMinMs * factor;
  // equal jitter: with full jitter the sum of all waits, which is the outage that is survived, could be anything
  return Math.round(Math.min(retryMaxMs, grown) * (retryJitter ? 0.5 + Math.random() / 2 : 1));
}

/** What the application's function says; one that fails or says nonsense must not lose the message. */
function chosen(
  backoff: (attempt: number, error: unknown, message: Message) => number,
  message: Message,
  error: unknown,
  { retryMaxMs, log }: RetryOptions,
): number {
  try {
    const ms = backoff(message.attempt, error, message);
    if (ms >= 0) return Math.round(Math.min(retryMaxMs, ms));
    log.error("expected `retryBackoff` to return milliseconds, waiting `retryMaxMs`", { got: ms });
    // an async function has no other reader, and its rejection would end the process
    Promise.resolve(ms).catch((thrown: unknown) => log.error("`retryBackoff` rejected", { error: thrown }));
  } catch (thrown) {
    log.error("`retryBackoff` threw, waiting `retryMaxMs`", { error: thrown });
  }
  return retryMaxMs;
}
