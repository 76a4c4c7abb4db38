import { once } from "node:events";
import os from "node:os";
import type { Run, RunHooks, ScenarioResults } from "@pgque/bench";
import { UsageError } from "../output/failure.ts";

/** Runs a scenario, prints what it found and returns the exit code: 0 when everything has its figures. */
export async function exitCodeOf(
  json: boolean,
  run: (hooks: RunHooks) => Promise<Run<ScenarioResults>>,
): Promise<number> {
  const { BenchOptionError, terminalProgress } = await import("@pgque/bench");
  const interrupt = catchSignals();
  try {
    const { results, folder, report, failed } = await run({
      signal: interrupt.signal,
      progress: terminalProgress(process.stderr),
    });
    await print(json ? JSON.stringify(results, null, 2) : `\n${report()}`);
    process.stderr.write(`\nAll of it: ${folder}\n`);
    if (results.interrupted) return interrupt.exitCode();
    return failed ? 1 : 0;
  } catch (error) {
    throw error instanceof BenchOptionError ? new UsageError(error.message) : error;
  } finally {
    interrupt.release();
  }
}

/**
 * The first signal stops the run, which keeps what was measured and removes what it made; one that comes more than three
 * seconds later ends the process. In between they are taken for the same one: a terminal and npm both pass it on.
 */
function catchSignals(): { signal: AbortSignal; exitCode(): number; release(): void } {
  const stop = new AbortController();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let caught: { name: (typeof signals)[number]; atMs: number } | null = null;
  const exitCode = (): number => 128 + os.constants.signals[caught?.name ?? "SIGINT"];
  const onSignal = (name: (typeof signals)[number]): void => {
    if (caught !== null && performance.now() - caught.atMs > 3000) process.exit(exitCode());
    caught ??= { name, atMs: performance.now() };
    if (!stop.signal.aborted) process.stderr.write("\nStopping, and keeping what was measured …\n");
    stop.abort(new Error(`stopped by ${name}`));
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: stop.signal,
    exitCode,
    release() {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

/** Waits for a slow pipe: what is not written when the process exits is lost. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}
