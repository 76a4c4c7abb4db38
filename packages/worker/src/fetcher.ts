import type { Pgque, Queue } from "@pgque/client";
import { Backoff } from "./backoff.ts";
import type { Executor } from "./executor.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Notice } from "./notice.ts";
import { OpenBatch } from "./open-batch.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Rhythm } from "./rhythm.ts";
import type { Settler } from "./settler.ts";

/** Batches that are handled but not settled yet: more of them, and the database cannot keep up. */
const unsettledBatchesMax = 8;

/** Receives: as much as there is room for. */
export class Fetcher<Output> {
  readonly #pgque: Pgque;
  readonly #queue: Queue<unknown, Output>;
  readonly #options: ResolvedOptions;
  readonly #name: string;
  readonly #executor: Executor<Output>;
  readonly #settler: Settler;
  readonly #heartbeat: Heartbeat;
  readonly #progress: Notice;
  readonly #rhythm: Rhythm;
  readonly #stop = new AbortController();
  readonly #stopped: Promise<void>;
  #generation = 0;

  constructor(
    pgque: Pgque,
    queue: Queue<unknown, Output>,
    options: ResolvedOptions,
    name: string,
    executor: Executor<Output>,
    settler: Settler,
    heartbeat: Heartbeat,
    progress: Notice,
    rhythm: Rhythm,
  ) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#options = options;
    this.#name = name;
    this.#executor = executor;
    this.#settler = settler;
    this.#heartbeat = heartbeat;
    this.#progress = progress;
    this.#rhythm = rhythm;
    this.#stopped = this.#loop();
  }

  /** Resolves when nothing more is received. */
  stop(): Promise<void> {
    this.#stop.abort();
    this.#progress.give();
    return this.#stopped;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    const { log } = this.#options;
    const backoff = new Backoff();
    for (;;) {
      await this.#progress.until(() => signal.aborted || this.#hasRoom());
      if (signal.aborted) return this.#rhythm.end();
      try {
        await this.#rhythm.prepare();
        const { max, received } = await this.#receive();
        if (backoff.failures > 0) log.info("worker receives again", { queue: this.#queue.name });
        backoff.reset();
        await this.#rhythm.rest(max, received, signal);
      } catch (error) {
        // The batch may have been made although its messages did not arrive. No heartbeat may keep it then, so
        // this name is given up: it lives on only in the batches that did arrive.
        this.#generation += 1;
        log.error("receive failed, will try again", { queue: this.#queue.name, error });
        await backoff.wait(signal);
      }
    }
  }

  /** Half of the prefetch is free, or a handler could run. To fill each place as it becomes free would mean batches of one. */
  #hasRoom(): boolean {
    const { concurrency, prefetch } = this.#options;
    if (this.#settler.unsettled >= unsettledBatchesMax) return false;
    return this.#executor.held <= Math.max(Math.floor(prefetch / 2), concurrency - 1);
  }

  /** How many messages it asked for and how many came. */
  async #receive(): Promise<{ max: number; received: number }> {
    const { consumer, leaseMs, batchSize, prefetch } = this.#options;
    const max = Math.min(batchSize, prefetch - this.#executor.held);
    const worker = `${this.#name}:${this.#generation}`;
    const batch = await this.#pgque.receive(this.#queue, { consumer, max, worker, leaseMs });
    if (batch.id === null) return { max, received: 0 };
    const received = batch.messages.length + batch.invalid.length;
    this.#executor.take(new OpenBatch(batch.id, worker, received), batch);
    this.#heartbeat.received(worker);
    return { max, received };
  }
}
