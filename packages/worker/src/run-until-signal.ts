import type { Pgque } from "@pgque/client";
import type { Worker } from "./worker.ts";

const signals = ["SIGINT", "SIGTERM"] as const;

/** A terminal sends Ctrl-C to the whole group, and npm passes it on as well: within this time it is the same one. */
const sameSignalMs = 1000;

/** Connections that are still in use when nobody waits any more. */
const forcedCloseMs = 1000;

/**
 * Runs a service: starts workers, and when SIGINT or SIGTERM comes stops them and closes the client. A second signal aborts handlers, gives back
 * what is not done a second later, and cuts connections; a third ends the process, as signals do that nobody listens to.
 *
 * @returns the signal, when all is over
 * @throws what a `start()` throws; those that have started are stopped then, and the client is closed
 * @example
 * await runUntilSignal([billing, mailer], pgque);
 */
export async function runUntilSignal(workers: readonly Worker<never>[], pgque: Pgque): Promise<NodeJS.Signals> {
  const first = Promise.withResolvers<NodeJS.Signals>();
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let count = 0;
  const heard = (signal: NodeJS.Signals): void => {
    if (performance.now() - heardAtMs < sameSignalMs) return;
    heardAtMs = performance.now();
    count += 1;
    if (count === 1) return first.resolve(signal);
    leave();
    const stopped = Promise.all(workers.map((worker) => worker.stop({ force: true })));
    void stopped.then(() => pgque.close({ timeoutMs: forcedCloseMs }));
  };
  const leave = (): void => {
    for (const signal of signals) process.off(signal, heard);
  };
  for (const signal of signals) process.on(signal, heard);
  try {
    const started = Promise.all(workers.map((worker) => worker.start()));
    // of a start that is given up nobody else hears
    started.catch(() => undefined);
    await Promise.race([started, first.promise]);
    return await first.promise;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await pgque.close();
    leave();
  }
}
