import { Latencies, type LatencySummary } from "../../measure/histogram.ts";

/** What one kind of call took, and how often longer than it should. */
export class Calls {
  readonly #latencies = new Latencies();
  readonly #slowMs: number;
  count = 0;
  slow = 0;

  constructor(slowMs: number) {
    this.#slowMs = slowMs;
  }

  async time<T>(call: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const result = await call();
    const tookMs = performance.now() - startMs;
    this.#latencies.record(tookMs);
    this.count += 1;
    if (tookMs > this.#slowMs) this.slow += 1;
    return result;
  }

  summary(): LatencySummary | null {
    return this.#latencies.summary();
  }
}
