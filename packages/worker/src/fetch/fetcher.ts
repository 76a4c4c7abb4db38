import type { Pgque, Queue } from "@pgque/client";
import { watchForBlocker } from "../health/blocker.ts";
import type { Executor } from "../execute/executor.ts";
import type { Heartbeat } from "../lease/heartbeat.ts";
import type { Lease } from "../lease/lease.ts";
import type { Notice } from "../notify/notice.ts";
import { OpenBatch } from "../settle/open-batch.ts";
import { receiveAhead } from "./receive-ahead.ts";
import type { ReceiveTurns } from "./receive-turns.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import type { Settler } from "../settle/settler.ts";

/** Receives: as much as there is room for. */
export class Fetcher {
  readonly #pgque: Pgque;
  readonly #queue: Queue;
  readonly #options: ResolvedOptions;
  readonly #name: string;
  readonly #executor: Executor;
  readonly #settler: Settler;
  readonly #heartbeat: Heartbeat;
  readonly #progress: Notice;
  readonly #turns: ReceiveTurns;
  readonly #stop = new AbortController();
  readonly #stopped: Promise<void>;
  #generation = 0;

  constructor(
    pgque: Pgque,
    queue: Queue,
    options: ResolvedOptions,
    name: string,
    executor: Executor,
    settler: Settler,
    heartbeat: Heartbeat,
    progress: Notice,
    turns: ReceiveTurns,
  ) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#options = options;
    this.#name = name;
    this.#executor = executor;
    this.#settler = settler;
    this.#heartbeat = heartbeat;
    this.#progress = progress;
    this.#turns = turns;
    this.#stopped = options.watch.loop("receiving", this.#loop(), this.#stop.signal);
  }

  /** Resolves when nothing more is received. */
  stop(): Promise<void> {
    this.#stop.abort();
    this.#progress.give();
    return this.#stopped;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await this.#progress.until(() => signal.aborted || (this.#settler.hasRoom && this.#executor.hasRoom));
      if (!(await this.#turns.take(signal))) return this.#turns.leave();
      try {
        if (!signal.aborted) await this.#turn(signal);
      } finally {
        this.#turns.pass();
      }
    }
  }

  /** Receives once, and waits for as long as the next receive is not worth it, whoever's turn it will be. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const { polling, backoff } = this.#turns;
    try {
      await polling.prepare();
      const { count, isFull } = await this.#receive();
      if (backoff.failures > 0) log.info("worker receives again", { queue: this.#queue.name });
      backoff.reset();
      await polling.rest(count, isFull, signal);
    } catch (error) {
      // The batch may have been made although its messages did not arrive. No heartbeat may keep it then, so
      // this name is given up: it lives on only in the batches that did arrive.
      this.#generation += 1;
      log.error("receive failed, will try again", { queue: this.#queue.name, error });
      await backoff.wait(signal);
    }
  }

  async #receive(): Promise<{ count: number; isFull: boolean }> {
    const worker = `${this.#name}:${this.#generation}`;
    let stopKeeping = (): void => undefined;
    const stopLooking = watchForBlocker(this.#pgque, this.#queue, this.#options);
    const onLeased = (lease: Lease): void => {
      stopKeeping = this.#heartbeat.keep(worker, lease);
    };
    try {
      const received = await this.#turns.receiving(
        this.#options.watch,
        receiveAhead(this.#pgque, this.#queue, this.#options, this.#executor, worker, onLeased),
      );
      const { batch, count, lease } = received;
      this.#options.watch.received(count);
      if (batch.id !== null) this.#executor.take(new OpenBatch(batch.id, worker, count, lease), batch);
      return received;
    } finally {
      stopLooking();
      stopKeeping();
    }
  }
}
