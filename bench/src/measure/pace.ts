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
 * `lateness` gets how late this process itself was: after the time a call was due, or the end of the one before it, whichever came last.
 */
export async function paced(
  schedule: Schedule,
  call: (dueMs: number) => Promise<void>,
  lateness: Pick<Latencies, "record">,
  signal: AbortSignal,
): Promise<void> {
  let freeMs = schedule.startMs;
  for (let n = 0; ; n++) {
    const dueMs = schedule.startMs + n * schedule.everyMs;
    if (dueMs >= schedule.endMs) return;
    // Timers count whole milliseconds and round down: a call must not come before its time.
    for (let waitMs = dueMs - performance.now(); waitMs > 0; waitMs = dueMs - performance.now()) {
      await sleep(Math.ceil(waitMs), undefined, { signal });
    }
    lateness.record(performance.now() - Math.max(dueMs, freeMs));
    signal.throwIfAborted();
    await call(dueMs);
    freeMs = performance.now();
  }
}
