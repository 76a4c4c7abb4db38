import { inspect } from "node:util";
import type { Batch, Message } from "@pgque/client";
import { retryAfterMs } from "./backoff.ts";
import { CallContext, type Handler } from "./handler.ts";
import type { Notice } from "./notice.ts";
import type { OpenBatch, Outcome } from "./open-batch.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Settler } from "./settler.ts";

/** A reason is read by people and kept with the dead letter; a whole response body in it helps nobody. */
const reasonCharsMax = 2000;

interface Call<Output> {
  batch: OpenBatch;
  message: Message<Output>;
}

/** Runs handlers, so many at once, and hands their outcomes to the settler. */
export class Executor<Output> {
  readonly #queue: string;
  readonly #handler: Handler<Output>;
  readonly #options: ResolvedOptions;
  readonly #settler: Settler;
  readonly #progress: Notice;
  readonly #running = new Map<CallContext, Call<Output>>();
  #waiting: Call<Output>[] = [];
  #ending = false;

  constructor(queue: string, handler: Handler<Output>, options: ResolvedOptions, settler: Settler, progress: Notice) {
    this.#queue = queue;
    this.#handler = handler;
    this.#options = options;
    this.#settler = settler;
    this.#progress = progress;
  }

  /** Messages waiting or being handled. */
  get held(): number {
    return this.#waiting.length + this.#running.size;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Takes over a batch that was received. */
  take(batch: OpenBatch, { messages, invalid }: Batch<Output>): void {
    this.#settler.add(batch);
    for (const { message, error } of invalid) this.#settler.record(batch, message.id, this.#failed(message, error));
    this.#waiting.push(...messages.map((message) => ({ batch, message })));
    if (this.#ending) this.#releaseWaiting();
    else this.#begin();
  }

  /** From now on what has not been begun is given back. */
  beginNoMore(): void {
    this.#ending = true;
    this.#releaseWaiting();
  }

  /** Resolves when no handler runs. */
  drained(): Promise<void> {
    return this.#progress.until(() => this.#running.size === 0);
  }

  abort(): void {
    const reason = new DOMException("the worker is stopping, and this handler was not done in time", "AbortError");
    for (const context of this.#running.keys()) context.abort(reason);
  }

  /** Gives back what is still being handled: whatever the handler comes to, it comes too late. */
  giveUp(): void {
    for (const { batch, message } of this.#running.values()) {
      this.#settler.record(batch, message.id, {
        kind: "retry",
        afterMs: 0,
        reason: "the worker stopped before the handler was done",
      });
    }
  }

  #begin(): void {
    while (this.#running.size < this.#options.concurrency) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      void this.#run(call);
    }
  }

  /** Never rejects. */
  async #run(call: Call<Output>): Promise<void> {
    const { batch, message } = call;
    const context = new CallContext(this.#queue, message, this.#options.log);
    this.#running.set(context, call);
    let outcome: Outcome = { kind: "done" };
    try {
      await this.#handler(message, context);
    } catch (error) {
      outcome = this.#failed(message, error);
    }
    this.#running.delete(context);
    this.#settler.record(batch, message.id, outcome);
    this.#begin();
    this.#progress.give();
  }

  #failed(message: Message, error: unknown): Outcome {
    const afterMs = retryAfterMs(message.attempt, this.#options);
    this.#options.log.warn("message failed", {
      queue: this.#queue,
      message: message.id,
      attempt: message.attempt,
      retryAfterMs: afterMs,
      error,
    });
    return { kind: "retry", afterMs, reason: reasonOf(error) };
  }

  #releaseWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { batch, message } of waiting) this.#settler.record(batch, message.id, { kind: "release" });
  }
}

function reasonOf(error: unknown): string {
  const reason =
    typeof error === "string" ? error : error instanceof Error ? error.message || error.name : inspect(error);
  return reason.length > reasonCharsMax ? `${reason.slice(0, reasonCharsMax - 1)}…` : reason;
}
