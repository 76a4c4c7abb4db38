import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Pgque, Queue } from "@pgque/client";
import type { Handler } from "./handler.ts";
import { resolveOptions, type ResolvedOptions, type WorkerOptions } from "./options.ts";
import { Run } from "./run.ts";

/**
 * Receives the messages of a queue for one consumer and calls a handler for each. Any number of workers, in any number of
 * processes, share a consumer's messages. Delivery is at least once: handlers should be idempotent.
 *
 * A handler that returns acks its message. One that throws has it tried again after a backoff, until the queue's `maxRetries` are
 * used up and it becomes a dead letter; so does a payload that does not fit the queue's schema.
 *
 * @example
 * const worker = new Worker(pgque, orders, async ({ payload }, { signal }) => charge(payload.orderId, { signal }));
 * await worker.start();
 * process.once("SIGTERM", () => worker.stop());
 */
export class Worker<Output = unknown> implements AsyncDisposable {
  /** Unique in all processes. Leases are held under it. */
  readonly name: string;
  readonly #pgque: Pgque;
  readonly #queue: Queue<unknown, Output>;
  readonly #handler: Handler<Output>;
  readonly #options: ResolvedOptions;
  #starting: Promise<Run<Output>> | undefined;
  #stopping: Promise<void> = Promise.resolve();

  /** @throws PgqueError INVALID_OPTION naming everything that is wrong */
  constructor(pgque: Pgque, queue: Queue<unknown, Output>, handler: Handler<Output>, options: WorkerOptions = {}) {
    this.#options = resolveOptions(handler, options);
    this.#pgque = pgque;
    this.#queue = queue;
    this.#handler = handler;
    this.name = `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
  }

  /**
   * Creates queue and consumer unless they are there, then begins to receive. A second call does nothing; after `stop()` it starts again.
   *
   * @throws PgqueError SCHEMA_NOT_INSTALLED, SCHEMA_VERSION, ACCESS_DENIED, DATABASE_UNREACHABLE, … and may be called again. Once it has
   *   started, a worker outlives the database's absence
   */
  async start(): Promise<void> {
    const starting = (this.#starting ??= this.#start(this.#stopping));
    try {
      await starting;
    } catch (error) {
      if (this.#starting === starting) this.#starting = undefined;
      throw error;
    }
  }

  /**
   * Receives no more, gives back what has not been begun, and waits for the handlers under way. Those that are not done within
   * `shutdownTimeoutMs` have their signal aborted; what is not done a second after that is given back, too. Never throws; may be called at any
   * time, any number of times.
   */
  async stop(): Promise<void> {
    const starting = this.#starting;
    // at once: who starts it again meanwhile starts another run, which waits for the end of this one
    this.#starting = undefined;
    if (starting !== undefined) this.#stopping = this.#stop(starting, this.#stopping);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(after: Promise<void>): Promise<Run<Output>> {
    const { consumer, log } = this.#options;
    await after;
    await this.#pgque.ensure(this.#queue);
    await this.#pgque.subscribe(this.#queue, consumer);
    log.info("worker started", { queue: this.#queue.name, consumer, worker: this.name });
    return new Run(this.#pgque, this.#queue, this.#handler, this.#options, this.name);
  }

  async #stop(starting: Promise<Run<Output>>, after: Promise<void>): Promise<void> {
    await after;
    // one that failed to start has said so to whoever started it
    const run = await starting.catch(() => undefined);
    await run?.stop();
  }
}
