import { setTimeout as sleep } from "node:timers/promises";
import { isPgqueError } from "../errors/errors.ts";
import { field } from "../options/field.ts";
import type { TimeLimit } from "./time-limit.ts";

/** The transaction was rolled back for a reason that passes: serialization, deadlock, lock timeout. */
const passing = new Set(["40001", "40P01", "55P03"]);

const firstWaitMs = 50;
const longestWaitMs = 1000;

/**
 * Whether a statement that failed may be run again. `idempotent`: running it twice is as good as running it once. Only a statement that is a
 * transaction of its own; a part of the caller's is the caller's to repeat.
 */
export function mayRetry(error: unknown, idempotent: boolean): boolean {
  if (!isPgqueError(error)) return passing.has(String(field(error, "code")));
  if (error.code === "DATABASE_UNREACHABLE" || error.code === "READ_ONLY") return true;
  return error.code === "CONNECTION_LOST" && idempotent;
}

/** Calls until it succeeds, fails for good, or the time is up: then its last failure. Waits 50 ms doubling to a second, at least half of it. */
export async function retrying<T>(
  call: () => Promise<T>,
  forMs: number,
  again: (error: unknown) => boolean,
  limit: TimeLimit,
): Promise<T> {
  const { signal } = limit;
  const deadline = performance.now() + forMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !again(error) || performance.now() + waitMs > deadline) throw error;
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
      if (limit.isOver) throw error;
      signal.throwIfAborted();
    }
  }
}
