import { parentPort, Worker } from "node:worker_threads";

/** Milliseconds on a clock that all threads of a process share, to a microsecond. */
export const nowMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

interface Ticks {
  startMs: number;
  everyMs: number;
  count: number;
}

/**
 * Says when each message is due, from a thread that does nothing else: a timer of Node.js comes up to a millisecond late, which is as long as what is
 * to be measured. However busy the main thread is, the times are those that were fixed in advance.
 */
export class Ticker {
  readonly #thread = new Worker(new URL(import.meta.url));

  /** Calls `tick` with the number of each tick and when it was due. Resolves after the last. */
  async run(ticks: Ticks, tick: (n: number, dueMs: number) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let n = 0;
    const onMessage = (dueMs: number): void => {
      tick(n, dueMs);
      n += 1;
      if (n === ticks.count) resolve();
    };
    this.#thread.on("message", onMessage).once("error", reject);
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a window has an origin, a thread has none
      this.#thread.postMessage(ticks);
      await promise;
    } finally {
      this.#thread.off("message", onMessage).off("error", reject);
    }
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

parentPort?.on("message", ({ startMs, everyMs, count }: Ticks) => {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let n = 0; n < count; n++) {
    const dueMs = startMs + n * everyMs;
    // sleeps to a fraction of a millisecond, and may wake too early
    for (let left = dueMs - nowMs(); left > 0; left = dueMs - nowMs()) Atomics.wait(never, 0, 0, left);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a window has an origin, a thread has none
    parentPort?.postMessage(dueMs);
  }
});
