import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { queueOf, type MessageOf, type MessageTypes, type Pgque, type Queue, type QueueRef } from "@pgque/client";
import type { WorkerEventName, WorkerEvents, WorkerListener } from "./events/worker-events.ts";
import type { AnyHandler, Handler, HandlerOf, TypeHandlers } from "./execute/handler.ts";
import { healthOf, type HealthOptions, type WorkerHealth, type WorkerState } from "./health/health.ts";
import type { WorkerOptions } from "./options.ts";
import { resolveOptions, type ResolvedOptions } from "./resolve-options.ts";
import { deadline } from "./connection/pause.ts";
import { Drains } from "./drain/drains.ts";
import { problemsOf, refuse } from "@pgque/client/options";
import {
  drainOptions,
  messagesMax,
  runOnceOptions,
  type DrainOptions,
  type RunOnceOptions,
} from "./drain/drain-options.ts";
import type { RunSummary } from "./drain/summary.ts";
import { preparation, type Prepare } from "./prepare.ts";
import { Run } from "./run.ts";
import { withinPool } from "./transaction/within-pool.ts";

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
export class Worker<
  Types extends MessageTypes = MessageTypes,
  IsBatch extends boolean = false,
> implements AsyncDisposable {
  /** Unique in all processes. Leases are held under it. */
  readonly name: string;
  /** The client that it works with. */
  readonly pgque: Pgque;
  readonly #queue: Queue;
  readonly #handler: AnyHandler;
  readonly #options: ResolvedOptions;
  readonly #prepare: Prepare;
  readonly #drains: Drains;
  #state: WorkerState = "idle";
  /** How often it was started or stopped: what ends later than the next such call has nothing to say of its state. */
  #turn = 0;
  #run: Run | undefined;
  #starts = 0;
  #starting: Promise<Run> | undefined;
  #stopping: Promise<void> = Promise.resolve();
  /** Aborted when the start that is under way is given up. */
  #givenUp = new AbortController();
  /** Aborted when what is under way is to end without waiting for handlers. */
  #forced = new AbortController();

  /** @throws PgqueError INVALID_OPTION naming everything that is wrong */
  constructor(
    pgque: Pgque,
    queue: QueueRef<Types>,
    handler: Handler<MessageOf<Types>> | TypeHandlers<Types>,
    options?: WorkerOptions<NoInfer<Types>>,
  );
  // the last one, whose errors the compiler shows, takes both kinds: the first is for handlers that a generic function makes
  constructor(
    pgque: Pgque,
    queue: QueueRef<Types>,
    handler: HandlerOf<Types, IsBatch>,
    options?: WorkerOptions<NoInfer<Types>, IsBatch>,
  );
  constructor(pgque: Pgque, queue: QueueRef, handler: AnyHandler, options: WorkerOptions<MessageTypes, boolean> = {}) {
    this.name = `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
    this.#queue = queueOf("new Worker", queue);
    const resolved = resolveOptions(handler, options, { queue: this.#queue.name, worker: this.name });
    this.#options = resolved.transactional ? withinPool(resolved, pgque.pool, options.concurrency) : resolved;
    this.pgque = pgque;
    this.#handler = handler;
    this.#prepare = preparation(pgque, this.#queue, this.#options);
    this.#drains = new Drains(pgque, this.#queue, this.#handler, this.#options, this.name, this.#prepare);
  }

  /** The name of its queue. */
  get queue(): string {
    return this.#queue.name;
  }

  /** The consumer that it receives for. */
  get consumer(): string {
    return this.#options.consumer;
  }

  /**
   * Calls `listener` whenever the worker tells that: see `WorkerEvents`. The worker does not wait for it; what it throws, or rejects with, is
   * logged. Before or after the start, and through any number of them.
   *
   * @throws PgqueError INVALID_OPTION for an unknown name
   * @example
   * worker.on("failed", ({ message, error, outcome }) => alert(message.id, error, outcome.kind));
   */
  on<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): this {
    this.#options.watch.events.on(name, listener);
    return this;
  }

  /**
   * Calls `listener` for the next event of that name alone.
   *
   * @throws PgqueError INVALID_OPTION for an unknown name
   * @example
   * worker.once("listening", () => console.log("idle"));
   */
  once<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): this {
    this.#options.watch.events.once(name, listener);
    return this;
  }

  /**
   * The events of one name as an async iterator. It begins with this call and ends when the worker has stopped. Events are kept in memory until
   * they are read; leave the loop, or abort the signal, to end it earlier.
   *
   * @throws PgqueError INVALID_OPTION for an unknown name; the iterator rejects with an AbortError when the signal is aborted
   * @example
   * for await (const { message, error } of worker.events("failed")) console.error(message.id, error);
   */
  events<Name extends WorkerEventName>(
    name: Name,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): AsyncIterableIterator<WorkerEvents[Name]> {
    return this.#options.watch.events.iterate(name, signal);
  }

  /** Calls `listener` no more. One that was added twice stays once. */
  off<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): this {
    this.#options.watch.events.off(name, listener);
    return this;
  }

  /**
   * How the worker is, for the probes of an orchestrator, from memory: asks nobody and costs little. Not live is what only a restart
   * mends; not ready is also a worker that starts, stops, or has lost the database for a while.
   *
   * @throws PgqueError INVALID_OPTION
   * @example
   * const { isReady, reasons } = worker.health();
   * response.writeHead(isReady ? 200 : 503).end(reasons.join("\n"));
   */
  health(options: HealthOptions = {}): WorkerHealth {
    const { name, queue, consumer } = this;
    return healthOf({ worker: name, queue, consumer }, this.#state, this.#run?.load, this.#options.watch, options);
  }

  /**
   * Creates queue and consumer unless they are there, sets the schedules that are declared, then begins to receive. A second call does nothing; after `stop()` it starts again.
   *
   * @throws PgqueError SCHEMA_NOT_INSTALLED, SCHEMA_VERSION, ACCESS_DENIED, DATABASE_UNREACHABLE, … and may be called again. Once it has
   *   started, a worker outlives the database's absence
   */
  async start(): Promise<void> {
    const starting = (this.#starting ??= this.#start(this.#stopping));
    try {
      await starting;
    } catch (error) {
      // unless it was stopped meanwhile
      if (this.#starting === starting) {
        this.#starting = undefined;
        this.#state = "idle";
      }
      throw error;
    }
  }

  /**
   * Receives what is there now, handles and settles it just as a started worker does, and resolves when that is done. What is due is there,
   * whether maintenance has delivered it or not. Creates queue and consumer unless they are there; listens to nothing, runs no schedules. It
   * may run beside anything else, and may be called before, after or without `start()`.
   *
   * @throws PgqueError as `start()`, INVALID_OPTION; DrainError with `throwOnFailure`
   * @example
   * const { done, failures } = await worker.runOnce();
   */
  async runOnce(options: RunOnceOptions = {}): Promise<RunSummary> {
    refuse("runOnce", problemsOf(options, runOnceOptions));
    return this.#drains.run(options, this.#forced.signal, (pass) => pass.once(options.max ?? this.#options.prefetch));
  }

  /**
   * The same until there is nothing to receive for this consumer, what handlers send to the queue meanwhile included. What other workers have
   * in hand is not waited for, nor, without `delayed`, what is delayed or to be tried again later; a queue that is paused has nothing. Several
   * may drain a queue at once and share its messages.
   *
   * @throws PgqueError as `start()`, INVALID_OPTION; DrainError with `throwOnFailure`, and when there are more than `maxMessages`
   * @example
   * const { done, dead } = await worker.drain({ delayed: true, throwOnFailure: true }); // a test: all retries, without waiting
   */
  async drain(options: DrainOptions = {}): Promise<RunSummary> {
    refuse("drain", problemsOf(options, drainOptions));
    return this.#drains.run(options, this.#forced.signal, (pass) =>
      pass.all(messagesMax(options), options.delayed ?? false),
    );
  }

  /**
   * Receives no more, gives back what has not been begun, and waits for the handlers under way. Those that are not done within
   * `shutdownTimeoutMs` have their signal aborted; what is not done a second after that is given back, too. So ends what `runOnce` and `drain`
   * have under way; before they receive they end with nothing done. Never throws; may be called at any time, any number of times; a handler that
   * awaits it waits for itself, until its time is over.
   *
   * @param options `force`: the signals are aborted at once, also those of handlers that an earlier call waits for, and a `start()` under way
   *   is given up, which is otherwise waited for within `shutdownTimeoutMs`. Default: false
   */
  async stop({ force = false }: { force?: boolean | undefined } = {}): Promise<void> {
    if (force) {
      this.#forced.abort();
      this.#forced = new AbortController();
    }
    const starting = this.#starting;
    // at once: who starts it again meanwhile starts another run, which waits for the end of this one
    this.#starting = undefined;
    if (starting !== undefined) this.#stopping = this.#stop(starting, this.#stopping);
    await Promise.all([this.#stopping, this.#drains.stop()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(after: Promise<void>): Promise<Run> {
    const { log, watch } = this.#options;
    const turn = this.#begin("starting");
    const { signal: forced } = this.#forced;
    this.#givenUp = new AbortController();
    const { signal: givenUp } = this.#givenUp;
    await after;
    await this.#prepare(AbortSignal.any([forced, givenUp]));
    watch.begin();
    // a name of its own: the heartbeats of the run before named a session that is over, and would give these leases away
    this.#starts += 1;
    const name = `${this.name}:${this.#starts}`;
    const run = new Run(this.pgque, this.#queue, this.#handler, this.#options, name, forced);
    this.#run = run;
    if (this.#turn === turn) this.#state = "running";
    log.info("worker started");
    watch.events.emit("started", () => ({}));
    return run;
  }

  async #stop(starting: Promise<Run>, after: Promise<void>): Promise<void> {
    const turn = this.#begin("stopping");
    const givenUp = this.#givenUp;
    await after;
    const started = starting.then(
      () => undefined,
      () => undefined,
    );
    if (!(await deadline(this.#options.shutdownTimeoutMs).reached(started)))
      givenUp.abort(new DOMException("the worker was stopped before it had started", "AbortError"));
    // one that failed to start has said so to whoever started it
    const run = await starting.catch(() => undefined);
    await run?.stop();
    this.#run = undefined;
    if (this.#turn === turn) this.#state = "stopped";
  }

  /** The number of this turn. */
  #begin(state: "starting" | "stopping"): number {
    this.#state = state;
    this.#turn += 1;
    return this.#turn;
  }
}
