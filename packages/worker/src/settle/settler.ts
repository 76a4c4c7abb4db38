import { type Message, type NackOptions, type Operations, type Pgque, isPgqueError } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import type { Notice } from "../notify/notice.ts";
import type { OpenBatch } from "./open-batch.ts";
import type { Outcome } from "../execute/outcome.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { Backoff, retry } from "../connection/retry.ts";

/** What is handled is settled within this time even when others of its batch take longer: a crash would bring it again. */
const partialAfterMs = 1000;

/** Batches that are handled but not settled yet: more of them, and the database cannot keep up. */
const unsettledBatchesMax = 8;

type Answer = "settled" | "lost" | "refused" | "over";

/** Tells the database what became of messages: a batch in one call when it is complete, parts of one that takes long. */
export class Settler {
  /** Called when the database has said that a batch is finished. */
  onFinished: (() => void) | undefined;
  /** Called, once or more, when the lease of a batch is over that is not settled. */
  onLost: ((batch: OpenBatch) => void) | undefined;
  /** Batches that are not settled. */
  readonly open = new Set<OpenBatch>();
  /** Resolves when the worker is over. */
  readonly ended: Promise<void>;
  readonly #calls: ReturnType<Operations["runtime"]["settler"]>;
  readonly #pgque: Pgque;
  readonly #queue: string;
  readonly #options: ResolvedOptions;
  readonly #progress: Notice;
  readonly #over: AbortSignal;
  readonly #partly = new Set<OpenBatch>();
  #unsettled = 0;

  constructor(pgque: Pgque, queue: string, options: ResolvedOptions, progress: Notice, over: AbortSignal) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#calls = pgque.runtime.settler({ queue, consumer: options.consumer });
    this.#options = options;
    this.#progress = progress;
    this.#over = over;
    this.ended = retry("settling", partialAfterMs / 2, options, over, async () => this.#settleParts());
  }

  /** Complete batches that the database does not know of yet. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /** Whether more is to be received. */
  get hasRoom(): boolean {
    return this.#unsettled < unsettledBatchesMax;
  }

  add(batch: OpenBatch): void {
    this.open.add(batch);
  }

  /** False: the message has an outcome already, and that stands. */
  record(batch: OpenBatch, index: number, messageId: string, outcome: Outcome): boolean {
    if (!batch.record(index, messageId, outcome)) return false;
    if (batch.isComplete) {
      this.#unsettled += 1;
      this.#enqueue(batch, () => this.#finish(batch));
    } else if (outcome.kind === "done" && outcome.reply !== undefined) {
      // somebody waits for it, and may not for the rest of the batch
      this.#enqueue(batch, () => this.#settlePart(batch));
    }
    return true;
  }

  /** These were acked in a transaction of their own. */
  acked(batch: OpenBatch, messages: readonly Message[]): void {
    batch.said(messages.map(({ id }) => id));
    this.#tellSettled(batch, messages.length, false);
  }

  /** Says that the handler of a message begins, or goes on beside others. False: the lease is lost, or the worker is over. */
  async reportStarted(batch: OpenBatch, { id }: Message, alone: boolean): Promise<boolean> {
    return (
      (await this.#insist(batch, 1, (signal) => this.#calls.reportStarted(batch.id, id, alone, { signal }))) ===
      "settled"
    );
  }

  /** Says at once what became of a message. False: that waits for the rest of its batch. */
  async say(batch: OpenBatch, { id }: Message): Promise<boolean> {
    if (!batch.isComplete) this.#enqueue(batch, () => this.#settlePart(batch));
    await batch.settling;
    return batch.isComplete || batch.isSaidOf(id);
  }

  /** Resolves when every batch is settled. */
  drained(): Promise<void> {
    return this.#progress.until(() => this.open.size === 0);
  }

  async #finish(batch: OpenBatch): Promise<void> {
    // each message was settled by itself, and with the last the batch was over
    const count = batch.unsaidCount;
    let answer: Answer = await this.#ackReplies(batch);
    if (answer === "settled" && !batch.isSaid)
      answer = await this.#insist(batch, count, (signal) => {
        const { retry, release, snooze, dead } = batch.unsaid;
        return this.#calls.settle(batch.id, { retry, release, snooze, dead, signal });
      });
    if (answer === "refused") await this.#finishSingly(batch);
    this.#unsettled -= 1;
    // given up when the worker is over: the end of the lease brings it to another
    if (answer !== "over") this.open.delete(batch);
    if (answer === "settled") {
      this.#tellSettled(batch, count, true);
      if (batch.withSteps.length > 0) await this.#forgetSteps(batch.withSteps);
    }
    this.#progress.give();
  }

  /** Never rejects: if nobody forgets them, they are kept for longer. */
  async #forgetSteps(ids: readonly string[]): Promise<void> {
    const { consumer, log, queryTimeoutMs } = this.#options;
    await answered(queryTimeoutMs, (signal) =>
      this.#pgque.runtime.forgetSteps(this.#queue, consumer, ids, { signal }),
    ).catch((error: unknown) => log.debug("forgetting steps failed", { error }));
  }

  #settleParts(): void {
    for (const batch of this.open) {
      if (batch.isLost) this.onLost?.(batch);
      if (batch.isComplete || batch.unsaidForMs < partialAfterMs || this.#partly.has(batch)) continue;
      this.#partly.add(batch);
      this.#enqueue(batch, () => this.#settlePart(batch).finally(() => this.#partly.delete(batch)));
    }
  }

  /** One outcome that the database refuses keeps the others from being settled with it: each by itself, then. */
  async #finishSingly(batch: OpenBatch): Promise<void> {
    await this.#settleEach(batch);
    const { release } = batch.unsaid;
    const count = batch.unsaidCount;
    if (count === 0) return;
    const answer = await this.#insist(batch, count, (signal) => this.#calls.settle(batch.id, { release, signal }));
    if (answer === "settled") this.#tellSettled(batch, count, true);
  }

  async #settlePart(batch: OpenBatch): Promise<void> {
    // to give back one message of an ordered consumer may end the batch, and what else is handled of it is handled now
    if (this.#options.mode === "ordered") await this.#ackDone(batch);
    else await this.#settleEach(batch);
  }

  /** "settled" also when there are none, or none that the database takes. */
  async #ackReplies(batch: OpenBatch): Promise<Exclude<Answer, "refused">> {
    const { replies } = batch.unsaid;
    if (replies.length === 0) return "settled";
    const answer = await this.#insist(batch, replies.length, (signal) =>
      this.#calls.ackWithJson(batch.id, replies, { signal }),
    );
    const ids = replies.map(({ id }) => id);
    if (answer === "refused") {
      const nacked = await this.#insist(batch, ids.length, async (signal) => {
        return (await this.#calls.nack(batch.id, ids, refusedOutcome(signal))) > 0;
      });
      if (nacked === "lost" || nacked === "over") return nacked;
    }
    if (answer !== "over") batch.said(ids);
    return answer === "refused" ? "settled" : answer;
  }

  async #ackDone(batch: OpenBatch): Promise<"over" | undefined> {
    const { done, replies } = batch.unsaid;
    const replied = await this.#ackReplies(batch);
    if (replied === "over") return replied;
    if (replied === "settled" && replies.length > 0) this.#tellSettled(batch, replies.length, false);
    if (done.length === 0) return undefined;
    const answer = await this.#insist(batch, done.length, (signal) => this.#calls.ack(batch.id, done, { signal }));
    if (answer === "settled") this.#tellSettled(batch, done.length, false);
    if (answer === "over") return answer;
    batch.said(done);
    return undefined;
  }

  /** What is to be released waits for the rest: to give it back without using an attempt is a way to finish a batch. */
  async #settleEach(batch: OpenBatch): Promise<void> {
    const { retry, snooze, dead } = batch.unsaid;
    if ((await this.#ackDone(batch)) === "over") return;
    const one = async (id: string, call: (signal: AbortSignal) => Promise<number>): Promise<void> => {
      const said = (how: typeof call): Promise<Answer> =>
        this.#insist(batch, 1, async (signal) => (await how(signal)) > 0);
      let answer = await said(call);
      // of the outcomes the one that has nothing of the handler's
      if (answer === "refused")
        answer = await said((signal) => this.#calls.nack(batch.id, [id], refusedOutcome(signal)));
      if (answer === "settled") this.#tellSettled(batch, 1, false);
      if (answer !== "over") batch.said([id]);
    };
    for (const { id, afterMs, reason } of retry)
      await one(id, (signal) => this.#calls.nack(batch.id, [id], { retryAfterMs: afterMs, reason, signal }));
    for (const { id, afterMs } of snooze)
      await one(id, (signal) => this.#calls.snooze(batch.id, [id], afterMs, { signal }));
    for (const { id, reason } of dead) await one(id, (signal) => this.#calls.bury(batch.id, [id], reason, { signal }));
  }

  /** One call per batch at a time: a final call that overtook a nack would ack its message. */
  #enqueue(batch: OpenBatch, work: () => Promise<void>): void {
    batch.settling = batch.settling.then(work);
  }

  #tellSettled(batch: OpenBatch, count: number, isFinished: boolean): void {
    if (isFinished) this.onFinished?.();
    this.#options.watch.events.emit("settled", () => ({ batchId: batch.id, count, isFinished }));
  }

  /** Calls until the database has answered, about so many messages. "refused": it always will. "over": the worker is, before that. */
  async #insist(batch: OpenBatch, count: number, call: (signal: AbortSignal) => Promise<boolean>): Promise<Answer> {
    const { log, watch, queryTimeoutMs } = this.#options;
    const backoff = new Backoff();
    let mayBeDone = false;
    while (!this.#over.aborted) {
      try {
        const settled = await watch.awaits("settling", answered(queryTimeoutMs, call));
        watch.answered("settling");
        // after a failure it may be an earlier call's own doing
        if (settled || mayBeDone) return "settled";
        log.warn("lease lost: messages that were handled come again", { batch: batch.id });
        watch.events.emit("leaseLost", () => ({ batchId: batch.id, count }));
        batch.lease.end();
        this.onLost?.(batch);
        return "lost";
      } catch (error) {
        if (isRefused(error)) {
          log.error("settling was refused", { batch: batch.id, messages: count, error });
          return "refused";
        }
        log.error("settling a batch failed, will try again", { batch: batch.id, error });
        watch.failed("settling", error);
        mayBeDone ||= !hadNoEffect(error);
        await backoff.wait(this.#over);
      }
    }
    return "over";
  }
}

const refusedOutcome = (signal: AbortSignal): NackOptions => ({
  reason: "the database refused what the handler's outcome says",
  signal,
});

/** The same call would be refused again: a value that the database does not take. Rights and schemas are mended by somebody. */
function isRefused(error: unknown): boolean {
  if (isPgqueError(error)) return ["INVALID_OPTION", "INVALID_ARGUMENT", "NOT_IN_BATCH"].includes(error.code);
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^(22|23|54|P0)...$/.test(code);
}

/** The database never had it, or refused it as it refuses everything. */
function hadNoEffect(error: unknown): boolean {
  return isPgqueError(error) && (error.code === "DATABASE_UNREACHABLE" || error.code === "READ_ONLY");
}
