const graceful = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** A terminal sends Ctrl-C to the whole group and npm passes it on as well: within this time it is the same one. */
const sameSignalMs = 1000;

/** Resolves with the first signal that asks to stop; a later one ends the process at once with exit code 1. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of graceful) {
      process.on(signal, () => {
        if (first !== undefined && performance.now() - first > sameSignalMs) process.exit(1);
        first ??= performance.now();
        resolve(signal);
      });
    }
  });
}
