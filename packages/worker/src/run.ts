import type { Pgque, Queue } from "@pgque/client";
import { Executor } from "./execute/executor.ts";
import { Fetcher } from "./fetch/fetcher.ts";
import type { AnyHandler } from "./execute/handler.ts";
import type { Load } from "./health/health.ts";
import { SharedServices } from "./shared-services.ts";
import { Notice } from "./notify/notice.ts";
import type { ResolvedOptions } from "./resolve-options.ts";
import { routeOf } from "./execute/route.ts";
import { startScheduler } from "./schedule/scheduler.ts";
import { Settler } from "./settle/settler.ts";
import { shutDown } from "./shutdown.ts";

/** What a worker is made of between a start and the stop that follows: a message goes from fetcher to executor to settler. */
export class Run {
  readonly #options: ResolvedOptions;
  readonly #fetcher: Fetcher;
  readonly #executor: Executor;
  readonly #settler: Settler;
  /** Ends the use of what it shares with the other workers of the process. */
  readonly #exit: () => void;
  /** Ends the loops that serve the messages under way. */
  readonly #over = new AbortController();
  /** What goes on in rounds: each ends with the round that is under way. */
  readonly #rounds: Promise<unknown>;
  /** Ends maintainer and scheduler, whose work any other worker can do. */
  readonly #stopping = new AbortController();
  /** Aborted: a stop waits for nobody. */
  readonly #forced: AbortSignal;

  constructor(
    pgque: Pgque,
    queue: Queue,
    handler: AnyHandler,
    options: ResolvedOptions,
    name: string,
    forced: AbortSignal,
  ) {
    this.#forced = forced;
    const progress = new Notice();
    this.#options = options;
    const services = SharedServices.of(pgque);
    this.#exit = services.enter(options);
    this.#settler = new Settler(pgque, queue.name, options, progress, this.#over.signal);
    this.#executor = new Executor(
      pgque,
      queue.name,
      routeOf(queue, handler, options),
      options,
      this.#settler,
      progress,
    );
    const heartbeat = services.heartbeat(options, this.#settler, this.#over.signal);
    const turns = services.receiveTurns(queue, options, this.#over.signal);
    const { consumer, listen } = options;
    const cancelled = (ids: readonly string[]): void => this.#executor.cancel(ids);
    if (listen) services.joinCancelled({ queue, consumer, cancelled }, this.#over.signal);
    // what stood behind a batch in its lanes is there now, and no sender will say so: a receive meanwhile may have found nothing
    if (options.mode === "ordered") this.#settler.onFinished = () => turns.wake();
    this.#fetcher = new Fetcher(pgque, queue, options, name, this.#executor, this.#settler, heartbeat, progress, turns);
    const { watch } = options;
    const stopping = this.#stopping.signal;
    const over = this.#over.signal;
    this.#rounds = Promise.all([
      watch.loop("maintenance", services.keep(queue, options, stopping), stopping),
      watch.loop("scheduling", startScheduler(pgque, queue, options, stopping), stopping),
      options.attempts.keep(pgque, queue, options, stopping),
      options.reports.keep(pgque, queue, options, over),
      watch.loop("heartbeat", heartbeat.ended, over),
      watch.loop("settling", this.#settler.ended, over),
    ]);
  }

  /** What is in hand just now. */
  get load(): Load {
    const { open, unsettled } = this.#settler;
    return { ...this.#executor.load, openBatches: open.size, unsettledBatches: unsettled };
  }

  async stop(): Promise<void> {
    const { log } = this.#options;
    const { events } = this.#options.watch;
    this.#stopping.abort();
    events.emit("stopping", () => ({ running: this.#executor.running, held: this.#executor.held }));
    this.#executor.beginNoMore();
    log.info("worker stopping", { running: this.#executor.running });
    await shutDown(
      {
        executor: this.#executor,
        settler: this.#settler,
        drained: () => this.#drained(),
        over: this.#over,
        loops: this.#rounds,
        forced: this.#forced,
      },
      this.#options,
    );
    this.#exit();
    log.info("worker stopped");
    events.emit("stopped", () => ({ openBatches: this.#settler.open.size }));
  }

  async #drained(): Promise<void> {
    await this.#fetcher.stop();
    await this.#executor.drained();
    await this.#settler.drained();
  }
}
