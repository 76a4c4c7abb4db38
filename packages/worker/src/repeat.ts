import { Backoff } from "./backoff.ts";
import type { Logger } from "./log.ts";
import { pause } from "./pause.ts";

/**
 * Does some work, at once and then at intervals, until the signal is aborted, whatever becomes of the database. `what`: its name in the log.
 * The work may answer in how many milliseconds it is to be done again, if that is sooner.
 */
export async function repeat(
  what: string,
  intervalMs: number,
  log: Logger,
  signal: AbortSignal,
  work: () => Promise<number | void>,
): Promise<void> {
  const backoff = new Backoff();
  while (!signal.aborted) {
    try {
      const sooner = await work();
      backoff.reset();
      await pause(Math.min(intervalMs, sooner ?? intervalMs), signal);
    } catch (error) {
      log.error(`${what} failed, will try again`, { error });
      await backoff.wait(signal);
    }
  }
}
