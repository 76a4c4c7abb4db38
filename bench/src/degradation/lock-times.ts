import { Latencies } from "../measure/histogram.ts";
import type { PhaseName } from "../xmin/xmin-cell.ts";
import type { System } from "../adapters/adapter.ts";

/** How long the statements took that picked and locked messages: before the long transaction, at its end, and between two samples. */
export class LockTimes {
  readonly clean = new Latencies();
  readonly end = new Latencies();
  /** To be taken at every sample. */
  readonly sinceSample = new Latencies();
  readonly #heldSeconds: number;
  readonly #endSeconds: number;
  #phase: PhaseName = "clean";
  #endFromMs = Number.POSITIVE_INFINITY;

  constructor({ heldSeconds, endSeconds }: { heldSeconds: number; endSeconds: number }) {
    this.#heldSeconds = heldSeconds;
    this.#endSeconds = endSeconds;
  }

  /** When the phase begins. */
  enter(phase: PhaseName, nowMs = performance.now()): void {
    this.#phase = phase;
    if (phase === "held") this.#endFromMs = nowMs + (this.#heldSeconds - this.#endSeconds) * 1000;
  }

  record(ms: number, nowMs = performance.now()): void {
    this.sinceSample.record(ms);
    if (this.#phase === "clean") this.clean.record(ms);
    else if (nowMs >= this.#endFromMs) this.end.record(ms);
  }
}

/** The same system, which tells how long its statements take that pick and lock. */
export function tellingLockTimes(system: System, times: LockTimes): System {
  return {
    ...system,
    open(workload) {
      workload.tally.picks = times;
      return system.open(workload);
    },
  };
}
