import type { Id } from "../options/checks.ts";
import { untilAborted } from "../connection/abortable.ts";
import { callProblems, refuse, type CallOptions } from "../options/option.ts";
import type { InvalidMessage, Message } from "../types.ts";
import type { Settler } from "../settle/settler.ts";
import { nackOptions, settleProblems, type NackOptions, type SettleOptions } from "../settle/settle-options.ts";

/** What a batch needs of the client that received it. */
type BatchSettler = Pick<Settler, "ack" | "nack" | "snooze" | "bury" | "settle" | "extend">;

/** What became of a message, as far as this batch was told. */
export type MessageOutcome = "acked" | "retried" | "released" | "snoozed" | "dead";

/** What a batch is made of. */
export interface BatchContent<Received> {
  id: string | null;
  messages: readonly Received[];
  payloadBytes: readonly number[];
  invalid: readonly InvalidMessage[];
  leasedUntil: Date | null;
  /** How long what is given back waits, unless a call says otherwise. */
  retryAfterMs: number;
}

/** What a loop does with a batch that was gone through: see `Batch.#finish`. */
export let finish: (batch: Batch, later: boolean) => Promise<string | undefined>;

/**
 * The messages of one receive, held under a lease: settle them before it ends, or they are delivered again. Calls may overlap; they settle
 * in the order in which they were made.
 *
 * Messages that do not fit the queue's schema are in `invalid` and not in `messages`. They hold up nothing and cannot be lost by an
 * oversight: `ack()` and `settle()` give those that are not settled otherwise back for a later attempt, with the reason, until they
 * become dead letters. To drop one, ack its id.
 *
 * @example
 * await using batch = await pgque.receive(orders); // what is not settled when the block is left is given back
 * for (const message of batch) {
 *   await charge(message.payload.orderId);
 *   await batch.ack([message.id]);
 * }
 */
export class Batch<Received extends Message = Message> implements Iterable<Received>, AsyncDisposable {
  /** Null when nothing was received: every method is then a no-op that succeeds. */
  readonly id: string | null;
  readonly messages: readonly Received[];
  /** How long the payload of each of `messages` was as UTF-8, in their order, in bytes. */
  readonly payloadBytes: readonly number[];
  readonly invalid: readonly InvalidMessage[];
  /** When the lease ends, unless it is extended or the heartbeats of its worker prolong it. Null when nothing was received. */
  readonly leasedUntil: Date | null;
  readonly #settler: BatchSettler;
  readonly #retryAfterMs: number;
  readonly #outcomes = new Map<string, MessageOutcome>();
  /** Whether a call found the batch finished, by this one or by others. */
  #refused = false;
  /** End with the last call that had its turn alone, and with the acks of some messages since. */
  #turn: Promise<unknown> = Promise.resolve();
  #acks: Promise<unknown> = Promise.resolve();

  static {
    finish = (batch, later) => batch.#finish(later);
  }

  constructor(content: BatchContent<Received>, settler: BatchSettler) {
    this.id = content.id;
    this.messages = content.messages;
    this.payloadBytes = content.payloadBytes;
    this.invalid = content.invalid;
    this.leasedUntil = content.leasedUntil;
    this.#retryAfterMs = content.retryAfterMs;
    this.#settler = settler;
  }

  /**
   * What became of each message that was settled through this batch.
   *
   * @example
   * await batch.ack();
   * for (const [id, outcome] of batch.outcomes) console.log(id, outcome); // 42 acked
   */
  get outcomes(): ReadonlyMap<string, MessageOutcome> {
    return this.#outcomes;
  }

  /**
   * Ids of the messages, invalid ones included, that are not settled yet; none once the lease was found to be lost.
   *
   * @example
   * if (batch.open.length > 0) await batch.release();
   */
  get open(): string[] {
    return this.#refused ? [] : this.#unsettled();
  }

  /**
   * Whether a call found that the batch is not this one's any more: its messages may be delivered again, or have been.
   *
   * @example
   * if (batch.isLost) console.log("it took too long: others have these messages");
   */
  get isLost(): boolean {
    return this.#refused && this.#unsettled().length > 0;
  }

  [Symbol.iterator](): Iterator<Received> {
    return this.messages[Symbol.iterator]();
  }

  /**
   * Acks the messages with these ids; the batch stays open until all are settled. Without ids: acks all valid messages that are not
   * settled yet, gives the invalid ones back, and finishes the batch.
   *
   * @returns false when the lease was lost or the batch is finished: its messages may be delivered again
   * @example
   * const [first] = batch.messages;
   * if (first) await batch.ack([first.id]);
   * await batch.ack(); // the rest
   */
  async ack(messageIds?: readonly Id[], options: CallOptions = {}): Promise<boolean> {
    const { id } = this;
    if (id === null) return true;
    if (messageIds === undefined) return this.settle(options);
    refuse("ack", callProblems(options));
    const ack = async (): Promise<boolean> =>
      this.#record(await this.#settler.ack(id, messageIds, options), messageIds, "acked");
    const acking = untilAborted(this.#turn, options.signal).then(ack);
    this.#acks = ended(this.#acks, acking);
    return acking;
  }

  /**
   * Gives some messages back, to be tried again; the batch stays open until all are settled.
   *
   * @returns how many were given back: less than asked for when some were settled before; 0 also when the lease was lost
   * @example
   * await batch.nack(batch.messages.map((message) => message.id), { retryAfterMs: 5000, reason: "gateway timeout" });
   */
  async nack(messageIds: readonly Id[], options: NackOptions = {}): Promise<number> {
    if (this.id !== null) refuse("nack", callProblems(options, nackOptions));
    return this.#giveBack(messageIds, "retried", options, (id) => {
      const { retryAfterMs = this.#retryAfterMs } = options;
      return this.#settler.nack(id, messageIds, { ...options, retryAfterMs });
    });
  }

  /**
   * Gives some messages back, to come again after `afterMs` at the same attempt, as often as you like: it is not yet their time, nothing
   * has failed. The batch stays open until all are settled, except that of an ordered consumer that blocks: what is not settled of it
   * waits behind them.
   *
   * @param afterMs in milliseconds, fractions are rounded. 0 to a hundred years
   * @returns how many were given back: less than asked for when some were settled before; 0 also when the lease was lost
   * @example
   * await batch.snooze(batch.messages.map((message) => message.id), 60_000); // the gateway said when to come back
   */
  async snooze(messageIds: readonly Id[], afterMs: number, options: CallOptions = {}): Promise<number> {
    return this.#giveBack(messageIds, "snoozed", options, (id) =>
      this.#settler.snooze(id, messageIds, afterMs, options),
    );
  }

  /**
   * Makes dead letters of some messages now, whatever attempts they have left: to try them again would not help. The batch stays open
   * until all are settled.
   *
   * @param reason kept with the dead letters. Default: none
   * @returns how many: less than asked for when some were settled before; 0 also when the lease was lost
   * @example
   * const unknown = batch.messages.filter((message) => message.payload.orderId < 0);
   * await batch.bury(unknown.map((message) => message.id), "no such order");
   */
  async bury(messageIds: readonly Id[], reason?: string | null, options: CallOptions = {}): Promise<number> {
    return this.#giveBack(messageIds, "dead", options, (id) => this.#settler.bury(id, messageIds, reason, options));
  }

  /**
   * Finishes the batch in one call: retries some, releases some, snoozes some, makes dead letters of some, gives back the invalid ones that
   * are not named, acks all others.
   *
   * @returns false when the lease was lost or the batch is finished: nothing was settled, its messages may be delivered again
   * @example
   * const [first, second] = batch.messages;
   * if (first) await batch.settle({ retry: [{ id: first.id, afterMs: 5000, reason: "declined" }], dead: second ? [{ id: second.id }] : [] });
   */
  async settle(options: SettleOptions = {}): Promise<boolean> {
    refuse("settle", settleProblems(options));
    return this.#serialize(options, () => this.#settle(options));
  }

  /** Settles what is left. `later`: when that is all of it, and valid, its id is returned instead, to be acked with the next receive. */
  async #finish(later: boolean): Promise<string | undefined> {
    await ended(this.#turn, this.#acks);
    const isUntouched = !this.#refused && this.#outcomes.size === 0 && this.invalid.length === 0;
    if (later && this.id !== null && isUntouched) return this.id;
    if (this.open.length > 0) await this.ack();
    return undefined;
  }

  async #settle(options: SettleOptions): Promise<boolean> {
    if (this.id === null) return true;
    const { retry = [], release = [], snooze = [], dead = [] } = options;
    const named = new Set([...this.#outcomes.keys(), ...release.map(String), ...idsOf([...retry, ...snooze, ...dead])]);
    const left = this.invalid
      .filter(({ message }) => !named.has(message.id))
      .map(({ message, error }) => ({ id: message.id, afterMs: this.#retryAfterMs, reason: error.message }));
    const retried = [...retry, ...left];
    const done = await this.#settler.settle(this.id, { ...options, retry: retried });
    this.#record(done, idsOf(retried), "retried");
    this.#record(done, release, "released");
    this.#record(done, idsOf(snooze), "snoozed");
    this.#record(done, idsOf(dead), "dead");
    return this.#record(done, this.#ids(), "acked");
  }

  /**
   * Gives back at once, without using an attempt, what is not settled yet, and finishes the batch. Invalid ones are tried again, an attempt
   * further: a receiver that gave them back for ever would get nothing else.
   *
   * @returns false when the lease was lost
   * @example
   * await batch.release();
   */
  async release(options: CallOptions = {}): Promise<boolean> {
    refuse("release", callProblems(options));
    return this.#serialize(options, async () => {
      const open = new Set(this.open);
      if (open.size === 0) return !this.isLost;
      return this.#settle({ ...options, release: this.messages.map((m) => m.id).filter((id) => open.has(id)) });
    });
  }

  /**
   * Keeps the batch for another lease from now; one that is longer stays as it is.
   *
   * @param leaseMs in milliseconds, 1 to 86400000 (a day). Default: 30000
   * @returns false when the lease was lost or the batch is finished
   * @example
   * if (!(await batch.extend(120_000))) throw new Error("somebody else has it by now");
   */
  async extend(leaseMs?: number, options: CallOptions = {}): Promise<boolean> {
    if (this.id === null) return true;
    const held = await this.#settler.extend(this.id, leaseMs, options);
    return this.#record(held, [], "acked");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #giveBack(
    messageIds: readonly Id[],
    outcome: MessageOutcome,
    options: CallOptions,
    call: (batchId: string) => Promise<number>,
  ): Promise<number> {
    const { id } = this;
    if (id === null) return 0;
    return this.#serialize(options, async () => {
      const given = await call(id);
      if (given > 0) this.#record(true, messageIds, outcome);
      return given;
    });
  }

  #ids(): string[] {
    return [...this.messages.map((m) => m.id), ...this.invalid.map(({ message }) => message.id)];
  }

  #unsettled(): string[] {
    return this.#ids().filter((id) => !this.#outcomes.has(id));
  }

  /**
   * Settles after what was called before. On several connections answers come in any order, and whether it was an ack or a nack that settled
   * a message could not be told. Acks of some messages need not wait for each other.
   */
  #serialize<Result>({ signal }: CallOptions, call: () => Promise<Result>): Promise<Result> {
    const before = ended(this.#turn, this.#acks);
    const result = untilAborted(before, signal).then(call);
    this.#turn = ended(before, result);
    return result;
  }

  /** What came first stands, as it does in the database. */
  #record(done: boolean, messageIds: readonly Id[], outcome: MessageOutcome): boolean {
    if (!done) this.#refused = true;
    if (done) for (const id of messageIds.map(String)) if (!this.#outcomes.has(id)) this.#outcomes.set(id, outcome);
    return done;
  }
}

/** The end of all of them, however they end. */
async function ended(...calls: Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(calls);
}

const idsOf = (messages: readonly { id: Id }[]): string[] => messages.map(({ id }) => String(id));
