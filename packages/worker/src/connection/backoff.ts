import type { Message } from "@pgque/client";
import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "./pause.ts";

type RetryOptions = Pick<ResolvedOptions, "retryMinMs" | "retryBackoff" | "retryMaxMs" | "retryJitter" | "log">;

/** How long until a message that failed is tried again, in whole milliseconds. */
export function retryAfterMs(message: Message, error: unknown, options: RetryOptions): number {
  const { retryMinMs, retryBackoff, retryMaxMs, retryJitter } = options;
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

/** Waits between attempts at a database that does not answer: 100 ms doubling to 5 s, at least half of it. */
export class Backoff {
  #failures = 0;

  get failures(): number {
    return this.#failures;
  }

  /** How long to wait after one more failure. */
  nextMs(): number {
    const ms = Math.min(5000, 100 * 2 ** this.#failures);
    this.#failures += 1;
    return ms * (0.5 + Math.random() / 2);
  }

  async wait(signal: AbortSignal): Promise<void> {
    await pause(this.nextMs(), signal);
  }

  reset(): void {
    this.#failures = 0;
  }
}
