/** Waits; less when the signal is or becomes aborted. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

/** A point in time from now on that several waits share. */
export function deadline(ms: number): { reached(work: Promise<void>): Promise<boolean> } {
  const endsAt = performance.now() + ms;
  return {
    /** Whether the work was done in time. */
    async reached(work) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => {
        timer = setTimeout(resolve, Math.max(0, endsAt - performance.now()), false);
      });
      try {
        return await Promise.race([work.then(() => true as const), late]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
