import { Backoff } from "./backoff.ts";
import type { Part } from "../events/worker-events.ts";
import type { Answers } from "../health/watch.ts";
import type { Logger } from "../log.ts";
import { pause } from "./pause.ts";

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
