import type { Attempts } from "./attempts.ts";
import { PgqueError, type Message, type Pgque } from "@pgque/client";
import type { PoolClient } from "pg";
import type { HandlerContext } from "./handler.ts";
import type { OpenBatch } from "../settle/open-batch.ts";
import { progressJson } from "@pgque/client/options";
import { alsoTo, lineOf, withFields, type Logger } from "../log.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { Steps, type Step } from "../steps/steps.ts";

/** The context of one call. What it has is made when it is asked for: most handlers that are short do not. */
export class RunContext implements HandlerContext {
  /** Set while the handler of a transactional worker runs. */
  transaction: PoolClient | undefined;
  readonly #pgque: Pgque;
  readonly #batch: OpenBatch;
  readonly #message: Message | undefined;
  readonly #log: Logger;
  readonly #attempts: Attempts;
  /** Set when the handler has asked for a step. */
  steps: Steps | undefined;
  readonly #queue: string;
  readonly #options: ResolvedOptions;
  #keptLines = 0;
  #aborter: AbortController | undefined;
  #aborted: Error | undefined;

  /** `message`: undefined for a handler of batches. */
  constructor(pgque: Pgque, queue: string, batch: OpenBatch, message: Message | undefined, options: ResolvedOptions) {
    const { log, attempts } = options;
    this.#options = options;
    this.#queue = queue;
    this.#pgque = pgque;
    this.#batch = batch;
    this.#message = message;
    this.#log = log;
    this.#attempts = attempts;
  }

  get attempt(): number {
    return this.#message?.attempt ?? 1;
  }

  get maxRetries(): number {
    return this.#message === undefined ? this.#attempts.maxRetries : this.#attempts.maxRetriesOf(this.#message);
  }

  get isLastAttempt(): boolean {
    return this.#message !== undefined && this.#attempts.isLast(this.#message);
  }

  get signal(): AbortSignal {
    this.#aborter ??= new AbortController();
    if (this.#aborted) this.#aborter.abort(this.#aborted);
    return this.#aborter.signal;
  }

  get step(): Step {
    const message = this.#single("step");
    const signal = (): AbortSignal => this.signal;
    this.steps ??= new Steps(this.#pgque, this.#queue, this.#batch, message, this.#options, signal);
    return this.steps.step;
  }

  get log(): Logger {
    const message = this.#message;
    if (message === undefined) return withFields(this.#log, { batch: this.#batch.id });
    const { id, attempt } = message;
    const log = withFields(this.#log, { message: id, attempt });
    const { keptLogLines, reports } = this.#options;
    if (keptLogLines === 0) return log;
    return alsoTo(log, (level, text, fields) => {
      this.#keptLines += 1;
      if (this.#keptLines <= keptLogLines) reports.line(message, lineOf(level, text, fields));
    });
  }

  /** A function that may be taken off the context. */
  get progress(): HandlerContext["progress"] {
    const message = this.#single("progress");
    return (value) => this.#options.reports.progress(message, progressJson(value));
  }

  get tx(): PoolClient {
    if (this.transaction) return this.transaction;
    throw new PgqueError("INVALID_OPTION", "expected a transactional worker for `context.tx`, this one is not", {
      hint: "Give the worker `transactional: true`",
    });
  }

  /** A function that may be taken off the context. */
  get send(): HandlerContext["send"] {
    return (...args) => (this.transaction ? this.#pgque.inTransaction(this.transaction) : this.#pgque).send(...args);
  }

  async extend(leaseMs = 30_000): Promise<boolean> {
    const askedAtMs = performance.now();
    const isHeld = await this.#pgque.extend(this.#batch.id, leaseMs);
    if (isHeld) this.#batch.lease.prolong(askedAtMs + leaseMs);
    return isHeld;
  }

  /** What is asked for is of one message. */
  #single(what: string): Message {
    if (this.#message !== undefined) return this.#message;
    const expected = `expected a handler of single messages for \`context.${what}\`, this one has batches`;
    throw new PgqueError("INVALID_OPTION", expected);
  }

  abort(reason: Error): void {
    if (this.#aborted) return;
    this.#aborted = reason;
    this.#aborter?.abort(reason);
  }
}
