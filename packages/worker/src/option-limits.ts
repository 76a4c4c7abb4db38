import type { WorkerOptions } from "./options.ts";

/** Options that are not numbers, but for `schedules`. */
export type Other =
  | "consumer"
  | "mode"
  | "onFailure"
  | "batch"
  | "transactional"
  | "unknownType"
  | "listen"
  | "retryBackoff"
  | "retryJitter"
  | "clock"
  | "middleware"
  | "log";
export type Numeric = Exclude<keyof WorkerOptions, Other | "schedules">;

const dayMs = 86_400_000;

/** Least and most of each numeric option. */
export const optionLimits: Readonly<Record<Numeric, readonly [number, number]>> = {
  concurrency: [1, 10_000],
  prefetch: [1, 100_000],
  prefetchBytes: [1, 2 ** 31 - 1],
  batchSize: [1, 100_000],
  leaseMs: [1000, 7 * dayMs],
  timeoutMs: [1, 7 * dayMs],
  maxAgeMs: [1, 3650 * dayMs],
  heartbeatIntervalMs: [100, 3_600_000],
  fallbackPollMs: [1, 600_000],
  pollMinMs: [1, 60_000],
  pollMaxMs: [1, 600_000],
  retryMinMs: [0, dayMs],
  retryMaxMs: [0, dayMs],
  queryTimeoutMs: [1000, 3_600_000],
  shutdownTimeoutMs: [0, dayMs],
  maintainIntervalMs: [100, 3_600_000],
};

/** What an option is when it is not given; `prefetch` and `batchSize` follow from `concurrency`. */
export const defaultOptions: Readonly<Record<Exclude<Numeric, "prefetch" | "batchSize">, number>> = {
  concurrency: 10,
  prefetchBytes: 16_777_216,
  leaseMs: 30_000,
  timeoutMs: Number.POSITIVE_INFINITY,
  maxAgeMs: Number.POSITIVE_INFINITY,
  heartbeatIntervalMs: 5000,
  fallbackPollMs: 5000,
  pollMinMs: 25,
  pollMaxMs: 1000,
  retryMinMs: 1000,
  retryMaxMs: 3_600_000,
  queryTimeoutMs: 30_000,
  shutdownTimeoutMs: 30_000,
  maintainIntervalMs: 1000,
};
