import { MessageBooks } from "../load/tally.ts";
import { Latencies, type LatencySummary } from "../measure/histogram.ts";

/** Books of all messages, and the latency of those of late. */
export class SoakWatch extends MessageBooks {
  readonly #recent = new Latencies();

  override received(dueMs: number, latencyMs = 0): void {
    super.received(dueMs);
    this.#recent.record(latencyMs);
  }

  /** Of messages received since it was last taken. */
  takeLatency(): LatencySummary | null {
    return this.#recent.take();
  }
}
