import { inspect } from "node:util";
import type { Batch, Pgque, Queue } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import { Executor } from "../execute/executor.ts";
import type { AnyHandler } from "../execute/handler.ts";
import { Watch } from "../health/watch.ts";
import type { Heartbeat } from "../lease/heartbeat.ts";
import { SharedServices } from "../shared-services.ts";
import type { Lease } from "../lease/lease.ts";
import { Notice } from "../notify/notice.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { receiveAhead } from "../fetch/receive-ahead.ts";
import { routeOf } from "../execute/route.ts";
import { Settler } from "../settle/settler.ts";
import { shutDown } from "../shutdown.ts";
import { DrainError } from "./drain-error.ts";
import { CountedBatch, type Failure, type RunSummary, Tally } from "./summary.ts";

/** A call to maintain does one thing after another; so many in a row, and the others are for the next worker. */
const maintainCallsMax = 10;

/** What is due so soon after the earliest comes with it: messages of one batch that failed together are a batch again. */
const togetherMs = 10;

/** What belongs to one call of `runOnce` or `drain`. */
export interface DrainSettings {
  /** Unique: leases are held under it. */
  name: string;
  throwOnFailure: boolean;
  /** Aborted, it ends early. */
  signal: AbortSignal;
  /** Aborted, that end waits for no handler. */
  forced: AbortSignal;
}

/** A batch, and what is kept of it. */
interface Received {
  batch: Batch & { id: string };
  open: CountedBatch;
}

/**
 * Goes over what there is once, and ends: a worker's executor, settler and heartbeats without the loops that wait for more. It listens to
 * nothing and holds no session; a crash is noticed when its leases end.
 */
export class Drain {
  readonly #pgque: Pgque;
  readonly #exit: () => void;
  readonly #queue: Queue;
  readonly #options: ResolvedOptions;
  readonly #name: string;
  readonly #throwOnFailure: boolean;
  readonly #forced: AbortSignal;
  readonly #tally: Tally;
  readonly #progress = new Notice();
  readonly #executor: Executor;
  readonly #settler: Settler;
  readonly #heartbeat: Heartbeat;
  /** Nothing more is to be received or begun. */
  readonly #stopping: AbortSignal;
  readonly #stop = new AbortController();
  /** Ends heartbeats and settling. */
  readonly #over = new AbortController();
  #failure: Failure | undefined;
  #messagesMax = Number.POSITIVE_INFINITY;
  #received = 0;
  #receives = 0;

  constructor(pgque: Pgque, queue: Queue, handler: AnyHandler, options: ResolvedOptions, settings: DrainSettings) {
    const { name, throwOnFailure, signal, forced } = settings;
    const tally = new Tally(options.attempts, (failure) => this.#hasFailed(failure));
    // what a started worker says of its health is not about this
    const watch = new Watch(options.log, options.watch.events);
    const counted = { ...options, watch, onFailed: tally.failed.bind(tally) };
    this.#pgque = pgque;
    this.#queue = queue;
    this.#options = options;
    this.#name = name;
    this.#throwOnFailure = throwOnFailure;
    this.#forced = forced;
    this.#tally = tally;
    this.#stopping = AbortSignal.any([signal, this.#stop.signal]);
    this.#settler = new Settler(pgque, queue.name, counted, this.#progress, this.#over.signal);
    const route = routeOf(queue, handler, counted);
    this.#executor = new Executor(pgque, queue.name, route, counted, this.#settler, this.#progress);
    const services = SharedServices.of(pgque);
    // nothing wakes it, and no session says that it is gone
    this.#heartbeat = services.heartbeat({ ...counted, listen: false }, this.#settler, this.#over.signal);
    this.#stopping.addEventListener("abort", this.#onStopping);
    if (this.#stopping.aborted) this.#executor.beginNoMore();
    this.#exit = services.enter(options);
  }

  /** What is there now, up to so many messages: all of it is received before the first is handled. */
  async once(max: number): Promise<RunSummary> {
    return this.#ending(async () => {
      await this.#maintain();
      const received: Received[] = [];
      try {
        while (!this.#stopping.aborted && this.#received < max) {
          const next = await this.#receive(max - this.#received);
          if (next === undefined) break;
          received.push(next);
        }
      } catch (error) {
        this.#stop.abort();
        throw error;
      } finally {
        for (const { batch, open } of received) this.#executor.take(open, batch);
      }
    });
  }

  /** Until there is nothing to receive, what handlers send and `bringForward` delivers included. */
  async all(messagesMax: number, bringForward: boolean | Date): Promise<RunSummary> {
    this.#messagesMax = messagesMax;
    return this.#ending(async () => {
      let isMaintained = false;
      for (;;) {
        await this.#progress.until(() => this.#stopping.aborted || (this.#settler.hasRoom && this.#executor.hasRoom));
        if (this.#stopping.aborted) return;
        // what a handler sends while it is asked for may not be seen
        const isIdle = this.#settler.open.size === 0;
        const received = await this.#receive(messagesMax - this.#received + 1);
        if (received !== undefined) {
          if (this.#isTooMuch) this.#stop.abort();
          this.#executor.take(received.open, received.batch);
          // what is brought forward need not be maintained for: what is due comes with it
          isMaintained &&= bringForward !== false;
        } else if (!isIdle) {
          await this.#progress.until(() => this.#stopping.aborted || this.#settler.open.size === 0);
        } else if (!isMaintained) {
          await this.#maintain();
          isMaintained = true;
        } else if ((await this.#deliver(bringForward)) === 0) {
          return;
        }
      }
    });
  }

  /** Does the work, waits for what is under way, and says what became of all. */
  async #ending(work: () => Promise<void>): Promise<RunSummary> {
    try {
      await work();
      await this.#progress.until(() => this.#stopping.aborted || this.#settler.open.size === 0);
    } catch (error) {
      this.#stop.abort();
      throw error;
    } finally {
      await this.#end();
    }
    this.#throwWhatIsWrong();
    return this.#tally.summary;
  }

  get #isTooMuch(): boolean {
    return this.#received > this.#messagesMax;
  }

  #throwWhatIsWrong(): void {
    const { summary } = this.#tally;
    const { name } = this.#queue;
    if (this.#failure !== undefined) {
      const { message, error } = this.#failure;
      const said = error instanceof Error ? error.message : inspect(error);
      throw new DrainError(
        "HANDLER_FAILED",
        `the handler of queue ${name} failed on message ${message.id}, attempt ${message.attempt}: ${said}`,
        summary,
        { cause: error },
      );
    }
    if (this.#isTooMuch)
      throw new DrainError(
        "MAX_MESSAGES",
        `expected queue ${name} to be drained within ${this.#messagesMax} messages, there are more. ` +
          "A handler that always fails, snoozes or sends makes no end; otherwise raise `maxMessages`",
        summary,
      );
  }

  async #end(): Promise<void> {
    await shutDown(
      {
        executor: this.#executor,
        settler: this.#settler,
        drained: async () => {
          await this.#executor.drained();
          await this.#settler.drained();
        },
        over: this.#over,
        loops: Promise.all([this.#heartbeat.ended, this.#settler.ended]),
        forced: this.#forced,
      },
      this.#options,
    );
    this.#exit();
    // of the worker, which may outlive many passes: who listens to what depends on it is kept
    this.#stopping.removeEventListener("abort", this.#onStopping);
  }

  /** Undefined: nothing is there. */
  async #receive(most: number): Promise<Received | undefined> {
    // a name for each: of a receive that fails the batch may have been made, and no heartbeat may keep it
    const worker = `${this.#name}-${this.#receives}`;
    this.#receives += 1;
    let stopKeeping = (): void => undefined;
    const onLeased = (lease: Lease): void => {
      stopKeeping = this.#heartbeat.keep(worker, lease);
    };
    try {
      const { batch, count, lease } = await receiveAhead(
        this.#pgque,
        this.#queue,
        this.#options,
        this.#executor,
        worker,
        onLeased,
        most,
      );
      if (!isThere(batch)) return undefined;
      this.#received += count;
      const messages = [...batch.messages, ...batch.invalid.map(({ message }) => message)];
      const open = new CountedBatch(batch.id, worker, messages, lease, this.#tally);
      // from now on heartbeats keep it, however long the receives after it take
      this.#settler.add(open);
      return { batch, open };
    } finally {
      stopKeeping();
    }
  }

  async #maintain(): Promise<void> {
    const { queryTimeoutMs } = this.#options;
    for (let calls = 0; calls < maintainCallsMax && !this.#stopping.aborted; calls += 1)
      if ((await answered(queryTimeoutMs, (signal) => this.#pgque.maintain(this.#queue, { signal }))) === 0) return;
  }

  /** The earliest of what waits. How many messages that were. */
  async #deliver(bringForward: boolean | Date): Promise<number> {
    if (bringForward === false || this.#stopping.aborted) return 0;
    const { consumer, queryTimeoutMs } = this.#options;
    const until = bringForward instanceof Date ? bringForward : undefined;
    return answered(queryTimeoutMs, (signal) =>
      this.#pgque.queues.deliverDelayed(this.#queue, { until, withinMs: togetherMs, consumer, signal }),
    );
  }

  readonly #onStopping = (): void => {
    this.#executor.beginNoMore();
    this.#progress.give();
  };

  #hasFailed(failure: Failure): void {
    if (!this.#throwOnFailure || this.#failure !== undefined) return;
    this.#failure = failure;
    this.#stop.abort();
  }
}

function isThere(batch: Batch): batch is Received["batch"] {
  return batch.id !== null;
}
