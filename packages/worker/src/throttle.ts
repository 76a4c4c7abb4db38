/** Lets something be said, and then not again for a while, however often it happens. */
export class Throttle {
  readonly #intervalMs: number;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(intervalMs = 60_000) {
    this.#intervalMs = intervalMs;
  }

  /** Whether it is to be said now. `nowMs`: by `performance.now()`. */
  isDue(nowMs: number = performance.now()): boolean {
    if (nowMs - this.#saidAtMs < this.#intervalMs) return false;
    this.#saidAtMs = nowMs;
    return true;
  }
}
