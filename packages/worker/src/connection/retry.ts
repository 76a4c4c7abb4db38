import type { Part } from "../events/worker-events.ts";
import type { Answers } from "../health/watch.ts";
import type { Logger } from "../log.ts";
import { pause } from "./pause.ts";

/** Waits between attempts at a database that does not answer: 100 ms doubling to 5 s, at least half of it. */
export class Backoff {
  #failures = 0;

  get failures(): number {
    return this.#failures;
  }

  /** How long to wait after one more failure. */
  nextMs(): number {
    const ms = Math.min(5000, 100 * 2 ** this.#failures);
    this.#failures += 1;
    return ms * (0.5 + Math.random() / 2);
  }

  async wait(signal: AbortSignal): Promise<void> {
    await pause(this.nextMs(), signal);
  }

  reset(): void {
    this.#failures = 0;
  }
}

/**
 * Does some work, at once and then at intervals, until the signal is aborted, whatever becomes of the database. `what`: its name.
 * The work may answer in how many milliseconds it is to be done again, if that is sooner. `wait` waits for that.
 */
export async function retry(
  what: Part,
  intervalMs: number,
  { log, watch }: { log: Logger; watch: Answers },
  signal: AbortSignal,
  work: () => Promise<number | void>,
  wait: typeof pause = pause,
): Promise<void> {
  const backoff = new Backoff();
  while (!signal.aborted) {
    try {
      const sooner = await work();
      if (backoff.failures > 0) watch.answered(what);
      backoff.reset();
      await wait(Math.min(intervalMs, sooner ?? intervalMs), signal);
    } catch (error) {
      log.error(`${what} failed, will try again`, { error });
      watch.failed(what, error);
      await backoff.wait(signal);
    }
  }
}
