import type { Pgque, Queue } from "@pgque/client";
import type { AnyHandler } from "../execute/handler.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import type { Prepare } from "../prepare.ts";
import { Drain, type DrainSettings } from "./drain.ts";
import type { RunOnceOptions, DrainOptions } from "./drain-options.ts";
import type { RunSummary } from "./summary.ts";

/** The calls of `runOnce` and `drain` of one worker that are under way. */
export class Drains {
  readonly #pgque: Pgque;
  readonly #queue: Queue;
  readonly #handler: AnyHandler;
  readonly #options: ResolvedOptions;
  readonly #name: string;
  readonly #prepare: Prepare;
  readonly #running = new Set<Promise<unknown>>();
  #stop = new AbortController();
  #begun = 0;

  constructor(
    pgque: Pgque,
    queue: Queue,
    handler: AnyHandler,
    options: ResolvedOptions,
    name: string,
    prepare: Prepare,
  ) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#handler = handler;
    this.#options = options;
    this.#name = name;
    this.#prepare = prepare;
  }

  /** `forced`: aborted, the end of a pass that is stopped waits for no handler. */
  async run(
    { throwOnFailure = false, signal }: RunOnceOptions | DrainOptions,
    forced: AbortSignal,
    work: (pass: Drain) => Promise<RunSummary>,
  ): Promise<RunSummary> {
    const stopping = AbortSignal.any([this.#stop.signal, ...(signal ? [signal] : [])]);
    const running = this.#run({ throwOnFailure, signal: stopping, forced }, work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Ends them as an aborted signal does. Never rejects. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#stop = new AbortController();
    await Promise.allSettled(this.#running);
  }

  async #run(settings: Omit<DrainSettings, "name">, work: (pass: Drain) => Promise<RunSummary>): Promise<RunSummary> {
    const { signal, forced } = settings;
    if (!(await this.#isPrepared(signal, forced))) return { ...nothingDone, failures: [] };
    this.#begun += 1;
    const name = `${this.#name}:once-${this.#begun}`;
    return work(new Drain(this.#pgque, this.#queue, this.#handler, this.#options, { ...settings, name }));
  }

  /** False: it was stopped, and what is asked of the database has taken longer than a stop waits. */
  async #isPrepared(stopping: AbortSignal, forced: AbortSignal): Promise<boolean> {
    const givenUp = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const onStopping = (): void => {
      timer = setTimeout(() => givenUp.abort(), this.#options.shutdownTimeoutMs);
    };
    stopping.addEventListener("abort", onStopping);
    if (stopping.aborted) onStopping();
    const over = AbortSignal.any([givenUp.signal, forced]);
    try {
      await this.#prepare(over);
      return true;
    } catch (error) {
      if (over.aborted) return false;
      throw error;
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener("abort", onStopping);
    }
  }
}

/** Of a call that was stopped before it received. */
const nothingDone = { done: 0, retried: 0, snoozed: 0, dead: 0, cancelled: 0, released: 0 } as const;
