import { pause } from "./pause.ts";

/** How long until a failed message is tried again: doubles with each attempt; anything from nothing to that, so that what failed together does not come back together. */
export function retryAfterMs(attempt: number, minMs: number, maxMs: number): number {
  return Math.random() * Math.min(maxMs, minMs * 2 ** (attempt - 1));
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
