import type { InvalidMessage, Message } from "./message.ts";
import type { NackOptions, SettleOptions } from "./settle-options.ts";

/** What a batch needs of the client that received it. */
export interface BatchSettler {
  ack(batchId: bigint, messageIds?: readonly bigint[]): Promise<boolean>;
  nack(batchId: bigint, messageIds: readonly bigint[], options?: NackOptions): Promise<number>;
  settle(batchId: bigint, options?: SettleOptions): Promise<boolean>;
}

/** How long an invalid message waits for a consumer that can read it: a deployment, say. The default of SQL's `nack`. */
const invalidRetryAfterMs = 60_000;

/**
 * The messages of one receive, held under a lease: settle them before it ends, or they are delivered again.
 *
 * Messages that do not fit the queue's schema are in `invalid` and not in `messages`. They hold up nothing and cannot be lost by an
 * oversight: `ack()` and `settle()` give those that are not settled otherwise back for a later attempt, with the reason, until they
 * become dead letters. To drop one, ack its id.
 */
export class Batch<Payload = unknown> {
  /** Null when nothing was received: every method is then a no-op that succeeds. */
  readonly id: bigint | null;
  readonly messages: readonly Message<Payload>[];
  readonly invalid: readonly InvalidMessage[];
  /** When the lease ends, unless the heartbeats of its worker prolong it. Null when nothing was received. */
  readonly leasedUntil: Date | null;
  readonly #settler: BatchSettler;
  /** Invalid messages that the caller has settled. */
  readonly #decided = new Set<bigint>();

  constructor(
    content: {
      id: bigint | null;
      messages: readonly Message<Payload>[];
      invalid: readonly InvalidMessage[];
      leasedUntil: Date | null;
    },
    settler: BatchSettler,
  ) {
    this.id = content.id;
    this.messages = content.messages;
    this.invalid = content.invalid;
    this.leasedUntil = content.leasedUntil;
    this.#settler = settler;
  }

  /**
   * Acks the messages with these ids; the batch stays open until all are settled. Without ids: acks all valid messages that are not
   * settled yet, gives the invalid ones back, and finishes the batch.
   *
   * @returns false when the lease was lost or the batch is finished: its messages may be delivered again
   */
  async ack(messageIds?: readonly bigint[]): Promise<boolean> {
    if (this.id === null) return true;
    if (messageIds === undefined) return this.settle();
    const done = await this.#settler.ack(this.id, messageIds);
    this.#decide(messageIds);
    return done;
  }

  /**
   * Gives some messages back, to be tried again; the batch stays open until all are settled.
   *
   * @returns how many were given back: less than asked for when some were settled before; 0 also when the lease was lost
   */
  async nack(messageIds: readonly bigint[], options: NackOptions = {}): Promise<number> {
    if (this.id === null) return 0;
    const given = await this.#settler.nack(this.id, messageIds, options);
    this.#decide(messageIds);
    return given;
  }

  /**
   * Finishes the batch in one call: retries some, releases some, gives back the invalid ones that are not named, acks all others.
   *
   * @returns false when the lease was lost or the batch is finished: nothing was settled, its messages may be delivered again
   */
  async settle(options: SettleOptions = {}): Promise<boolean> {
    if (this.id === null) return true;
    const { retry = [], release = [] } = options;
    const named = new Set([...this.#decided, ...retry.map((r) => r.id), ...release]);
    const left = this.invalid
      .filter(({ message }) => !named.has(message.id))
      .map(({ message, error }) => ({ id: message.id, afterMs: invalidRetryAfterMs, reason: error.message }));
    return this.#settler.settle(this.id, { ...options, retry: [...retry, ...left] });
  }

  #decide(messageIds: readonly bigint[]): void {
    for (const id of messageIds) this.#decided.add(id);
  }
}
