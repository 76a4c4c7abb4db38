import os from "node:os";

const graceful = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** A terminal sends Ctrl-C to the whole group and npm passes it on as well: within this time it is the same one. */
const sameSignalMs = 1000;

/** The first signal that asks to stop, and the second, which will not wait; a third ends the process at once with exit code 1. */
export interface StopSignals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
}

/** A signal ended the work before it was done: told as a failure, with the exit code that shells have for it, 130 for Ctrl-C. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  readonly signal: NodeJS.Signals;

  constructor(message: string, signal: NodeJS.Signals) {
    super(message);
    this.signal = signal;
  }
}

/** The signal that ended a call, also where the database has not said what became of it; undefined: none did. */
export function stoppedBy(error: unknown): NodeJS.Signals | undefined {
  if (error instanceof Stopped) return error.signal;
  return error instanceof Error && error.cause instanceof Stopped ? error.cause.signal : undefined;
}

/** As shells have it: 130 for Ctrl-C. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + os.constants.signals[signal];
}

/** Listens from now on. */
export function stopSignals(): StopSignals {
  const { promise: first, resolve: resolveFirst } = Promise.withResolvers<NodeJS.Signals>();
  const { promise: second, resolve: resolveSecond } = Promise.withResolvers<NodeJS.Signals>();
  let calls = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (performance.now() - lastAt <= sameSignalMs) return;
    lastAt = performance.now();
    calls += 1;
    if (calls === 1) resolveFirst(signal);
    else if (calls === 2) resolveSecond(signal);
    else process.exit(1);
  };
  for (const signal of graceful) process.on(signal, onSignal);
  return { first, second };
}

/** Aborted, with a `Stopped`, by the first signal that asks to stop; a later one ends the process at once with exit code 1. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  void stopRequested().then((signal) => stop.abort(new Stopped(`stopped by ${signal}`, signal)));
  return stop.signal;
}

/** Resolves with the first signal that asks to stop; a later one ends the process at once with exit code 1. */
export function stopRequested(): Promise<NodeJS.Signals> {
  const { first, second } = stopSignals();
  void second.then(() => process.exit(1));
  return first;
}
