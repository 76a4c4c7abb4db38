import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** Things that go on beside the load. The first one to fail stops all that listens to `signal`, and `stop` throws it. */
export class Background {
  readonly #stop = new AbortController();
  readonly #failed = new AbortController();
  readonly #running: Promise<void>[] = [];
  /** Aborts when something here fails or when the outer signal does; not when `stop` is called. */
  readonly signal: AbortSignal;
  readonly #stopping: AbortSignal;

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#failed.signal]);
    this.#stopping = AbortSignal.any([this.signal, this.#stop.signal]);
    // One listener for everybody who waits is what it is for, however many connections there are.
    setMaxListeners(0, this.signal, this.#stopping);
  }

  run(task: (signal: AbortSignal) => Promise<void>): void {
    const running = task(this.#stopping).catch((error: unknown) => {
      if (!this.#stopping.aborted) this.#failed.abort(error);
    });
    this.#running.push(running);
  }

  /** One call at a time, so long from now or the end of the last one. */
  every(seconds: number, task: () => Promise<unknown>): void {
    this.run(async (signal) => {
      while (!signal.aborted) {
        await sleep(seconds * 1000, undefined, { signal });
        await task();
      }
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    this.signal.throwIfAborted();
  }
}
