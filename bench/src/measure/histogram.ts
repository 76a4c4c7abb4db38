import { build } from "hdr-histogram-js";

/** Milliseconds, to a microsecond; at most an hour. */
export interface LatencySummary {
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  p999: number;
  max: number;
}

const microsMax = 3_600_000_000;

/** Latencies in an HDR histogram: three significant digits from a microsecond to an hour, in constant memory. */
export class Latencies {
  readonly #micros = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: microsMax,
    numberOfSignificantValueDigits: 3,
    bitBucketSize: 32,
    useWebAssembly: false,
  });

  record(ms: number): void {
    this.#micros.recordValue(Math.min(microsMax, Math.max(1, Math.round(ms * 1000))));
  }

  /** What was recorded since it was last taken, and begins anew. */
  take(): LatencySummary | null {
    const summary = this.summary();
    this.#micros.reset();
    return summary;
  }

  /** Null when nothing was recorded: "not measured" is not zero. */
  summary(): LatencySummary | null {
    if (this.#micros.totalCount === 0) return null;
    const at = (percentile: number): number => this.#micros.getValueAtPercentile(percentile) / 1000;
    return {
      mean: Math.round(this.#micros.mean) / 1000,
      p50: at(50),
      p95: at(95),
      p99: at(99),
      p999: at(99.9),
      max: this.#micros.maxValue / 1000,
    };
  }
}
