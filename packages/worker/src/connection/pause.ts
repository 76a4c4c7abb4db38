import { setTimeout as sleep } from "node:timers/promises";

/** Waits; less when the signal is or becomes aborted. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** A point in time from now on that several waits share. */
export function deadline(ms: number): { reached(work: Promise<void>, over?: AbortSignal): Promise<boolean> } {
  const endsAt = performance.now() + ms;
  return {
    /** Whether the work was done in time, and before the signal was aborted. */
    async reached(work, over) {
      let timer: NodeJS.Timeout | undefined;
      let end = (): void => undefined;
      const late = new Promise<false>((resolve) => {
        end = () => resolve(false);
        timer = setTimeout(end, over?.aborted ? 0 : Math.max(0, endsAt - performance.now()));
        over?.addEventListener("abort", end);
      });
      try {
        return await Promise.race([work.then(() => true as const), late]);
      } finally {
        clearTimeout(timer);
        over?.removeEventListener("abort", end);
      }
    },
  };
}
