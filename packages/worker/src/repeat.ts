import { Backoff } from "./backoff.ts";
import type { Logger } from "./log.ts";
import { pause } from "./pause.ts";

/** Does some work at intervals until the signal is aborted, whatever becomes of the database. `what`: its name in the log. */
export async function repeat(
  what: string,
  intervalMs: number,
  log: Logger,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const backoff = new Backoff();
  while (!signal.aborted) {
    await pause(intervalMs, signal);
    if (signal.aborted) return;
    try {
      await work();
      backoff.reset();
    } catch (error) {
      log.error(`${what} failed, will try again`, { error });
      await backoff.wait(signal);
    }
  }
}
