import { once } from "node:events";
import { EventEmitter } from "node:events";
import { setInterval } from "node:timers/promises";
import { Child } from "../processes/child.ts";
import type { DrainMethods, DrainNote, DrainUse, MemorySample } from "./process.ts";

/** Between two samples of memory. */
const sampleMs = 1000;

/** The worker processes of one cell. */
export class Fleet {
  readonly #children: Child<DrainMethods>[];
  readonly #handled: number[];
  readonly #progress = new EventEmitter();
  readonly #patienceMs: number;
  readonly #failed: Promise<never>;

  constructor(processes: number, collectsGarbage: boolean, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#handled = Array.from({ length: processes }, () => 0);
    const module = new URL("./process.js", import.meta.url);
    this.#children = this.#handled.map(
      (_, index) =>
        new Child(
          module,
          (note) => {
            this.#handled[index] = (note as DrainNote).handled;
            this.#progress.emit("handled");
          },
          collectsGarbage ? ["--expose-gc"] : [],
        ),
    );
    this.#failed = Promise.race(this.#children.map(({ failed }) => failed)).then((error) => {
      throw error;
    });
    // whoever waits at that time hears of it; nobody need
    this.#failed.catch(() => undefined);
  }

  /** By all processes together, as far as they have told. */
  get handledNow(): number {
    return this.#handled.reduce((sum, one) => sum + one, 0);
  }

  /** Resolves when every process is connected and ready. */
  async open(argument: Parameters<DrainMethods["open"]>[0], signal: AbortSignal): Promise<void> {
    await this.#each((child) => child.call("open", argument));
    signal.throwIfAborted();
  }

  async start(): Promise<void> {
    await this.#each((child) => child.call("start"));
  }

  /** Resolves when so many were handled. Rejects when a process ends, or nothing is handled any more. */
  async handled(messages: number, signal: AbortSignal): Promise<void> {
    while (this.handledNow < messages) {
      const late = AbortSignal.timeout(this.#patienceMs);
      const next = once(this.#progress, "handled", { signal: AbortSignal.any([signal, late]) });
      try {
        await Promise.race([next, this.#failed]);
      } catch (error) {
        if (!late.aborted || signal.aborted) throw error;
        throw new Error(`expected ${messages} messages to be handled, after ${this.handledNow} no more were`, {
          cause: error,
        });
      }
    }
  }

  /** Samples the memory of the first process until it is ended, which returns the samples. */
  sampleMemory(): { end(): Promise<MemorySample[]> } {
    const [first] = this.#children;
    const stop = new AbortController();
    const samples: MemorySample[] = [];
    const sampled = (async () => {
      for await (const _ of setInterval(sampleMs, undefined, { signal: stop.signal })) {
        if (first) samples.push(await first.call("memory"));
      }
    })().catch(() => undefined);
    return {
      async end() {
        stop.abort();
        await sampled;
        return samples;
      },
    };
  }

  /** What each used since the start. */
  use(): Promise<DrainUse[]> {
    return this.#each((child) => child.call("use"));
  }

  /** What each was given. */
  stop(): Promise<{ bits: Uint8Array; again: number }[]> {
    return this.#each((child) => child.call("stop"));
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
  }

  #each<T>(act: (child: Child<DrainMethods>) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#children.map(act));
  }
}
