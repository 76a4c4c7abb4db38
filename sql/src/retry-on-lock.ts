import { setTimeout as pause } from "node:timers/promises";

/** For how long a lock is asked for at a time: whoever comes after us waits as long. */
export const lockTimeoutMs = 50;

/**
 * Does something again for as long as others hold the locks that it needs, with pauses in which they get on: 0.1 s doubling to 2 s.
 *
 * @throws Error once `giveUpAfterMs` have passed
 */
export async function retryOnLock<T>(giveUpAfterMs: number, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + giveUpAfterMs;
  for (let waitMs = 100; ; waitMs = Math.min(2000, waitMs * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!isLockConflict(error)) throw error;
      if (performance.now() + waitMs > deadline) {
        throw new Error(
          `expected the locks of a migration within ${giveUpAfterMs} ms, found them held by other transactions: nothing was changed. ` +
            "Look for long ones in pg_stat_activity, and try again",
          { cause: error },
        );
      }
    }
    // not in step with others that wait
    await pause(waitMs * (0.5 + Math.random() / 2));
  }
}

/**
 * Lock not available, deadlock; a function was being replaced by somebody else, for which there is no lock and no code; or a role is there, for
 * an installer into another database has just made it, and this session has not heard of it: 42704.
 */
function isLockConflict(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "55P03" || code === "40P01" || code === "42704" || message === "tuple concurrently updated";
}
