import type { ResolvedOptions } from "./options.ts";
import { pause } from "./pause.ts";

type RetryOptions = Pick<ResolvedOptions, "retryMinMs" | "retryBackoff" | "retryMaxMs" | "retryJitter">;

/** How long until a message that failed at this attempt is tried again, in whole milliseconds. */
export function retryAfterMs(attempt: number, options: RetryOptions): number {
  const { retryMinMs, retryBackoff, retryMaxMs, retryJitter } = options;
  const grown = retryBackoff === "exponential" ? retryMinMs * 2 ** (attempt - 1) : retryMinMs;
  return Math.round(Math.min(retryMaxMs, grown) * (retryJitter ? Math.random() : 1));
}

/** Waits between attempts at a database that does not answer: 100 ms doubling to 5 s, at least half of it. */
export class Backoff {
  #failures = 0;

  get failures(): number {
    return this.#failures;
  }

  async wait(signal: AbortSignal): Promise<void> {
    const ms = Math.min(5000, 100 * 2 ** this.#failures);
    this.#failures += 1;
    await pause(ms * (0.5 + Math.random() / 2), signal);
  }

  reset(): void {
    this.#failures = 0;
  }
}
