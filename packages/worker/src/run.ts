import type { Pgque, Queue } from "@pgque/client";
import { deadline } from "./pause.ts";
import { Executor } from "./executor.ts";
import { Fetcher } from "./fetcher.ts";
import type { Handler } from "./handler.ts";
import { Heartbeat } from "./heartbeat.ts";
import { startKeeper } from "./keeper.ts";
import { Notice } from "./notice.ts";
import type { ResolvedOptions } from "./options.ts";
import { Rhythm } from "./rhythm.ts";
import { Settler } from "./settler.ts";
import { Waker } from "./waker.ts";

/** How long handlers have to notice that their signal was aborted. */
const abortGraceMs = 1000;

/** How long the database has to hear what was given up. */
const settleGraceMs = 1000;

/** What a worker is made of between a start and the stop that follows: a message goes from fetcher to executor to settler. */
export class Run<Output> {
  readonly #options: ResolvedOptions;
  readonly #fetcher: Fetcher<Output>;
  readonly #executor: Executor<Output>;
  readonly #settler: Settler;
  readonly #queue: string;
  readonly #name: string;
  /** Ends the loops that serve the messages under way. */
  readonly #over = new AbortController();
  /** What goes on in rounds: each ends with the round that is under way. */
  readonly #rounds: Promise<unknown>;
  /** Ends the keeper, whose work any other worker can do. */
  readonly #stopping = new AbortController();

  constructor(
    pgque: Pgque,
    queue: Queue<unknown, Output>,
    handler: Handler<Output>,
    options: ResolvedOptions,
    name: string,
  ) {
    const progress = new Notice();
    this.#options = options;
    this.#queue = queue.name;
    this.#name = name;
    this.#settler = new Settler(pgque, options.log, progress, this.#over.signal);
    this.#executor = new Executor(queue.name, handler, options, this.#settler, progress);
    const heartbeat: Heartbeat = new Heartbeat(pgque, options, this.#settler, () => waker?.session, this.#over.signal);
    const waker = options.listen
      ? new Waker(pgque, queue, name, options.log, this.#over.signal, () => heartbeat.sessionChanged())
      : undefined;
    const rhythm = new Rhythm(waker, options);
    this.#fetcher = new Fetcher(
      pgque,
      queue,
      options,
      name,
      this.#executor,
      this.#settler,
      heartbeat,
      progress,
      rhythm,
    );
    const kept = startKeeper(pgque, queue, options, this.#stopping.signal);
    this.#rounds = Promise.all([kept, heartbeat.ended, this.#settler.ended]);
  }

  async stop(): Promise<void> {
    const { log, shutdownTimeoutMs } = this.#options;
    const about = { queue: this.#queue, worker: this.#name };
    this.#stopping.abort();
    this.#executor.beginNoMore();
    log.info("worker stopping", { ...about, running: this.#executor.running });
    const inTime = deadline(shutdownTimeoutMs);
    if (!(await inTime.reached(this.#drained()))) {
      log.warn("worker aborts what is not done in time", {
        ...about,
        running: this.#executor.running,
        shutdownTimeoutMs,
      });
      this.#executor.abort();
      await deadline(abortGraceMs).reached(this.#drained());
      this.#executor.giveUp();
      await deadline(settleGraceMs).reached(this.#settler.drained());
    }
    this.#over.abort();
    // the database connections may be closed next
    await deadline(settleGraceMs).reached(this.#rounds.then(() => undefined));
    if (this.#settler.open.size > 0)
      log.warn("worker leaves messages to the end of their lease", { ...about, batches: this.#settler.open.size });
    log.info("worker stopped", about);
  }

  async #drained(): Promise<void> {
    await this.#fetcher.stop();
    await this.#executor.drained();
    await this.#settler.drained();
  }
}
