import { pause } from "./connection/pause.ts";

/**
 * What time it is for a worker, where it decides by the time of day: how old a message is that failed, in how long an outcome's `at` comes, and when
 * schedules are run. What the database decides goes by the database's clock: when a delayed message or a retry comes due, leases, expiry.
 * Intervals of the worker's own, such as `timeoutMs` and heartbeats, go by no clock that can be set.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves when so many milliseconds have passed, or sooner; at once when the signal is aborted. Never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's. */
export const systemClock: Clock = { now: () => Date.now(), wait: pause };
