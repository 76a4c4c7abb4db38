import type { ClientConfig } from "pg";
import type { Logger, RunSummary, Worker } from "@pgque/worker";
import { Pgque } from "@pgque/client";
import { UsageError } from "../output/failure.ts";
import type { LoadedTask } from "./load-tasks.ts";

/** The workers of a folder's tasks, a worker each, and the connections that they share. */
export class Fleet {
  readonly workers: readonly Worker[];
  readonly #pgque: Pgque;
  #stopped: Promise<void> | undefined;

  private constructor(pgque: Pgque, workers: readonly Worker[]) {
    this.#pgque = pgque;
    this.workers = workers;
  }

  /** @throws UsageError naming the file whose options are wrong; nothing is connected to yet */
  static async of(tasks: readonly LoadedTask[], config: ClientConfig, schema: string, log: Logger): Promise<Fleet> {
    const { workerOptions, Worker } = await import("@pgque/worker");
    // each worker receives, settles, maintains and runs schedules, one connection each at most; its transactional handlers have one each
    const max = tasks.reduce((sum, { options }) => {
      const handlers = options.transactional === true ? (options.concurrency ?? workerOptions.concurrency.default) : 0;
      return sum + 5 + handlers;
    }, 0);
    const pgque = new Pgque({ ...config, max }, { schema });
    try {
      const workers = tasks.map(({ file, queue, handler, options }) => {
        try {
          return new Worker(pgque, queue, handler, { ...options, log });
        } catch (cause) {
          throw new UsageError(`could not run ${file}`, { cause });
        }
      });
      return new Fleet(pgque, workers);
    } catch (error) {
      await pgque.close();
      throw error;
    }
  }

  /** All of them, or none: when one cannot start, those that have are stopped. */
  async start(): Promise<void> {
    try {
      await Promise.all(this.workers.map((worker) => worker.start()));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Works off what is there, also what handlers of one queue send to another. */
  async drain(signal: AbortSignal): Promise<Omit<RunSummary, "failures">> {
    const sum = { done: 0, retried: 0, snoozed: 0, dead: 0, cancelled: 0, released: 0 };
    const names = Object.keys(sum) as (keyof typeof sum)[];
    for (;;) {
      const round = await Promise.allSettled(this.workers.map((worker) => worker.drain({ signal })));
      let handled = 0;
      for (const end of round) {
        if (end.status === "rejected") throw end.reason;
        for (const name of names) sum[name] += end.value[name];
        // what was snoozed or given back makes no round of its own
        handled += end.value.done + end.value.retried + end.value.dead;
      }
      if (handled === 0 || signal.aborted) return sum;
    }
  }

  /** Lets handlers finish, for as long as their workers' `shutdownTimeoutMs` says. Further calls wait for the first. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      await Promise.all(this.workers.map((worker) => worker.stop()));
      await this.#pgque.close();
    })();
    return this.#stopped;
  }

  /** Hastens a stop: handlers are aborted, what is not done a second later is given back, and who has a connection then loses it. */
  force(): void {
    const stopped = Promise.all(this.workers.map((worker) => worker.stop({ force: true })));
    void stopped.then(() => this.#pgque.close({ timeoutMs: 1000 }));
  }
}
