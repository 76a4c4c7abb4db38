import type { Pgque } from "@pgque/client";
import { Backoff } from "./backoff.ts";
import type { Logger } from "./log.ts";
import type { Notice } from "./notice.ts";
import type { OpenBatch, Outcome } from "./open-batch.ts";
import { repeat } from "./repeat.ts";

/** What is handled is settled within this time even when others of its batch take longer: a crash would bring it again. */
const partialAfterMs = 1000;

/** Tells the database what became of messages: a batch in one call when it is complete, parts of one that takes long. */
export class Settler {
  /** Batches that are not settled. */
  readonly open = new Set<OpenBatch>();
  /** Resolves when the worker is over. */
  readonly ended: Promise<void>;
  readonly #pgque: Pgque;
  readonly #log: Logger;
  readonly #progress: Notice;
  readonly #over: AbortSignal;
  readonly #partly = new Set<OpenBatch>();
  #unsettled = 0;

  constructor(pgque: Pgque, log: Logger, progress: Notice, over: AbortSignal) {
    this.#pgque = pgque;
    this.#log = log;
    this.#progress = progress;
    this.#over = over;
    this.ended = repeat("settling", partialAfterMs / 2, log, over, async () => this.#settleParts());
  }

  /** Complete batches that the database does not know of yet. */
  get unsettled(): number {
    return this.#unsettled;
  }

  add(batch: OpenBatch): void {
    this.open.add(batch);
  }

  record(batch: OpenBatch, messageId: bigint, outcome: Outcome): void {
    if (!batch.record(messageId, outcome) || !batch.isComplete) return;
    this.#unsettled += 1;
    this.#enqueue(batch, () => this.#finish(batch));
  }

  /** Resolves when every batch is settled. */
  drained(): Promise<void> {
    return this.#progress.until(() => this.open.size === 0);
  }

  async #finish(batch: OpenBatch): Promise<void> {
    const settled = await this.#insist(batch, () => {
      const { retry, release } = batch.unsaid;
      return this.#pgque.settle(batch.id, { retry, release });
    });
    this.#unsettled -= 1;
    // given up when the worker is over: the end of the lease brings it to another
    if (settled) this.open.delete(batch);
    this.#progress.give();
  }

  #settleParts(): void {
    for (const batch of this.open) {
      if (batch.isComplete || batch.unsaidForMs < partialAfterMs || this.#partly.has(batch)) continue;
      this.#partly.add(batch);
      this.#enqueue(batch, () => this.#settlePart(batch).finally(() => this.#partly.delete(batch)));
    }
  }

  /** What is to be released waits for the rest: to give it back without using an attempt is a way to finish a batch. */
  async #settlePart(batch: OpenBatch): Promise<void> {
    const { done, retry } = batch.unsaid;
    if (done.length > 0) await this.#insist(batch, () => this.#pgque.ack(batch.id, done));
    batch.said(done);
    for (const { id, afterMs, reason } of retry) {
      await this.#insist(
        batch,
        async () => (await this.#pgque.nack(batch.id, [id], { retryAfterMs: afterMs, reason })) > 0,
      );
      batch.said([id]);
    }
  }

  /** One call per batch at a time: a final call that overtook a nack would ack its message. */
  #enqueue(batch: OpenBatch, work: () => Promise<void>): void {
    batch.settling = batch.settling.then(work);
  }

  /** Calls until the database has answered; false when the worker is over before that. */
  async #insist(batch: OpenBatch, call: () => Promise<boolean>): Promise<boolean> {
    const backoff = new Backoff();
    while (!this.#over.aborted) {
      try {
        const settled = await call();
        // after a failure it may be the first call's own doing
        if (!settled && backoff.failures === 0)
          this.#log.warn("lease lost: messages that were handled come again", { batch: batch.id });
        return true;
      } catch (error) {
        this.#log.error("settling a batch failed, will try again", { batch: batch.id, error });
        await backoff.wait(this.#over);
      }
    }
    return false;
  }
}
