import { setTimeout as sleep } from "node:timers/promises";
import type { Latencies } from "./histogram.ts";

export interface Schedule {
  /** When the first call is due, on the clock of `performance.now()`. */
  startMs: number;
  everyMs: number;
  /** No call is due at or after this time. */
  endMs: number;
}

/**
 * Open loop: every call is due at a time fixed in advance, whatever became of the earlier ones, and is given that time.
 * A stall delays the calls behind it and shows in latencies measured from the due time; it never thins the schedule.
 * One call at a time, so that a caller may own one connection.
 *
 * `lateness` gets how late this process itself was: the delay of calls that had nothing before them to wait for.
 */
export async function paced(
  schedule: Schedule,
  call: (dueMs: number) => Promise<void>,
  lateness: Latencies,
  signal: AbortSignal,
): Promise<void> {
  for (let n = 0; ; n++) {
    const dueMs = schedule.startMs + n * schedule.everyMs;
    if (dueMs >= schedule.endMs) return;
    let waited = false;
    // Timers count whole milliseconds and round down: a call must not come before its time.
    for (let waitMs = dueMs - performance.now(); waitMs > 0; waitMs = dueMs - performance.now()) {
      await sleep(Math.ceil(waitMs), undefined, { signal });
      waited = true;
    }
    if (waited) lateness.record(performance.now() - dueMs);
    signal.throwIfAborted();
    await call(dueMs);
  }
}
