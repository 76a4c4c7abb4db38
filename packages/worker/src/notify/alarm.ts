/** Wakes the one that sleeps. A ring counts also while nobody does: who is about to sleep says how many it knows of. */
export class Alarm {
  /** How many rings there were. */
  rings = 0;
  #wake = (): void => undefined;

  ring(): void {
    this.rings += 1;
    this.#wake();
  }

  /** Until a ring comes that is not counted in `since`, for so long, or until the signal is aborted. */
  async sleep(since: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.rings !== since || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake);
    this.#wake = wake;
    await promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", wake);
    this.#wake = () => undefined;
  }
}
