import { Batch } from "./batch.ts";
import type { Connection } from "./connection.ts";
import * as functions from "./functions.ts";
import { readMessages } from "./message.ts";
import { integer, name, problemsOf, refuse, show, text, type Check } from "./options.ts";
import { encodePayloads } from "./payload.ts";
import { sqlOptions, type Queue } from "./queue.ts";
import {
  encodeSendOptions,
  sendChecks,
  sendConflicts,
  sendManyChecks,
  type SendManyOptions,
  type SendOptions,
} from "./send-options.ts";
import {
  id,
  ids,
  nackChecks,
  retryProblems,
  settleChecks,
  storable,
  type NackOptions,
  type SettleOptions,
} from "./settle-options.ts";
import { from, subscribeChecks, type Position, type SubscribeOptions } from "./subscribe-options.ts";

export interface ReceiveOptions {
  /** Which consumer receives. It must be subscribed. Default: `default`. */
  consumer?: string | undefined;
  /** At most this many messages. 1 to 100000. Default: 100. */
  max?: number | undefined;
  /** Whose heartbeats keep the batch: see `heartbeat`. Default: nobody's, the lease alone counts. */
  worker?: string | undefined;
  /** How long the messages are this batch's alone, in milliseconds. 1 to 604800000 (7 days). Default: 30000. */
  leaseMs?: number | undefined;
}

/** The consumer that is meant when none is named. */
export const defaultConsumer = "default";

const defaults = {
  type: "default",
  consumer: defaultConsumer,
  mode: "shared",
  max: 100,
  leaseMs: 30_000,
  retryAfterMs: 60_000,
};
const dayMs = 86_400_000;

const receiveChecks: Record<keyof ReceiveOptions, Check> = {
  consumer: name,
  max: integer(1, 100_000),
  worker: text,
  leaseMs: integer(1, 7 * dayMs),
};

/**
 * What can be done with queues, on one connection or pool. Every method throws a `PgqueError`: INVALID_OPTION before anything is sent;
 * SCHEMA_NOT_INSTALLED, SCHEMA_VERSION, QUEUE_NOT_FOUND, ACCESS_DENIED, DATABASE_UNREACHABLE or CONNECTION_LOST from the database;
 * and what its own description names. Other errors of Postgres come through as they are.
 */
export class Operations {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Creates a queue unless it is there. The settings of one that is there are left as they are.
   *
   * @returns true when it was created
   */
  async ensure(queue: Queue): Promise<boolean> {
    return functions.createQueue(this.#db, queue.name, sqlOptions(queue.options));
  }

  /**
   * Registers a consumer: a named reader that is given every message of the queue. Not in a transaction above READ COMMITTED.
   *
   * @param consumer any Unicode, 1 to 57 bytes of UTF-8
   * @returns true when it is new
   * @throws PgqueError ISOLATION_LEVEL, INVALID_ARGUMENT when it is there in another mode
   */
  async subscribe(queue: Queue, consumer: string = defaultConsumer, options: SubscribeOptions = {}): Promise<boolean> {
    refuse("subscribe", [name("consumer", consumer), ...problemsOf(options, subscribeChecks)]);
    return functions.subscribe(this.#db, queue.name, consumer, {
      from: options.from,
      mode: options.mode ?? defaults.mode,
      on_failure: options.onFailure,
      max_in_flight: options.maxInFlight,
      rate_limit: options.rateLimit,
      rate_period: options.ratePeriodMs === undefined ? undefined : options.ratePeriodMs / 1000,
    });
  }

  /**
   * Places a consumer anew: replays what is kept, see `retentionMs`, or skips what it has not received. Its open batches and its retries are
   * left behind. Not in a transaction above READ COMMITTED.
   *
   * @param position a time means the first message kept that was sent at or after it
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   */
  async seek(queue: Queue, consumer: string, position: Position): Promise<void> {
    refuse("seek", [name("consumer", consumer), from("position", position)]);
    return functions.seek(this.#db, queue.name, consumer, position instanceof Date ? position.toISOString() : position);
  }

  /**
   * Removes a consumer, and with it what it has not received. Other consumers are not affected.
   *
   * @returns false when there was none
   */
  async unsubscribe(queue: Queue, consumer: string = defaultConsumer): Promise<boolean> {
    refuse("unsubscribe", [name("consumer", consumer)]);
    return functions.unsubscribe(this.#db, queue.name, consumer);
  }

  /**
   * Pauses a consumer, or without one the queue: nothing is received until it is resumed. What is in hand can be settled, and sends go on.
   *
   * @returns false when it was paused already
   * @throws PgqueError CONSUMER_NOT_FOUND
   */
  async pause(queue: Queue, consumer?: string): Promise<boolean> {
    refuse("pause", [consumer === undefined ? undefined : name("consumer", consumer)]);
    return functions.setPaused(this.#db, queue.name, consumer ?? null, true);
  }

  /**
   * Goes on with what `pause` stopped, and wakes idle workers.
   *
   * @returns false when it was not paused
   * @throws PgqueError CONSUMER_NOT_FOUND
   */
  async resume(queue: Queue, consumer?: string): Promise<boolean> {
    refuse("resume", [consumer === undefined ? undefined : name("consumer", consumer)]);
    return functions.setPaused(this.#db, queue.name, consumer ?? null, false);
  }

  /**
   * Throws away what a consumer, or without one every consumer, has not received or settled, and for a whole queue what is delayed. Dead
   * letters stay. Not in a transaction above READ COMMITTED.
   *
   * @returns how many messages that were
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   */
  async purge(queue: Queue, consumer?: string): Promise<number> {
    refuse("purge", [consumer === undefined ? undefined : name("consumer", consumer)]);
    return functions.purge(this.#db, queue.name, consumer ?? null);
  }

  /**
   * Sends one message, at once or later.
   *
   * @returns its id, or that of the first message with its `dedupeKey`
   * @throws PgqueError PAYLOAD_INVALID, PAYLOAD_NOT_JSON, INVALID_ARGUMENT when it is larger than the queue allows
   */
  async send<Input>(queue: Queue<Input, unknown>, payload: NoInfer<Input>, options: SendOptions = {}): Promise<bigint> {
    refuse("send", [...problemsOf(options, sendChecks), ...sendConflicts(options)]);
    const [json = ""] = await encodePayloads(queue, [payload], false);
    const { all } = encodeSendOptions(queue.name, options);
    return functions.send(this.#db, queue.name, options.type ?? defaults.type, json, all);
  }

  /**
   * Sends many messages in one statement: all or none.
   *
   * @param options for each of them
   * @returns their ids in the order of the payloads
   * @throws PgqueError as `send`, with all issues of all payloads
   */
  async sendMany<Input>(
    queue: Queue<Input, unknown>,
    payloads: readonly NoInfer<Input>[],
    options: SendManyOptions = {},
  ): Promise<bigint[]> {
    refuse("sendMany", [
      Array.isArray(payloads) ? undefined : `expected \`payloads\` to be an array, got: ${show(payloads)}`,
      ...problemsOf(options, sendManyChecks),
      ...sendConflicts(options),
      Array.isArray(options?.keys) && options.keys.length !== payloads?.length
        ? `expected as many \`keys\` as payloads (${payloads?.length}), got: ${options.keys.length}`
        : undefined,
    ]);
    if (payloads.length === 0) return [];
    const texts = await encodePayloads(queue, payloads, true);
    const { headers, rest } = encodeSendOptions(queue.name, options);
    return functions.sendBatch(this.#db, queue.name, options.type ?? defaults.type, texts, headers, rest);
  }

  /**
   * Receives messages, oldest first, and leases them. Does not wait: with nothing there the batch is empty. Not in a transaction above
   * READ COMMITTED; in one, the consumer's other receivers wait until it ends, and what it sent itself is received after it.
   *
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   */
  async receive<Output>(queue: Queue<unknown, Output>, options: ReceiveOptions = {}): Promise<Batch<Output>> {
    refuse("receive", problemsOf(options, receiveChecks));
    const { consumer = defaults.consumer, max = defaults.max, worker = null, leaseMs = defaults.leaseMs } = options;
    const rows = await functions.receiveMessages(this.#db, queue.name, consumer, worker, max, leaseMs);
    const { messages, invalid } = await readMessages(queue, rows);
    const [first] = rows;
    return new Batch({ id: first?.batchId ?? null, messages, invalid, leasedUntil: first?.leasedUntil ?? null }, this);
  }

  /**
   * Acks messages of a batch; without ids all that are not settled yet, whether they fit the schema or not.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: the messages may be delivered again
   * @throws PgqueError NOT_IN_BATCH
   */
  async ack(batchId: bigint, messageIds?: readonly bigint[]): Promise<boolean> {
    refuse("ack", [id("batchId", batchId), messageIds && ids("messageIds", messageIds)]);
    return messageIds === undefined
      ? functions.ack(this.#db, batchId)
      : functions.ackMessages(this.#db, batchId, messageIds);
  }

  /**
   * Acks as `ack` does, in the transaction that does the messages' work, and fails when the lease is lost: the transaction rolls back, and
   * the work is that of whoever has the messages now. While it is open the lease is not taken away.
   *
   * @throws PgqueError LEASE_LOST, NOT_IN_BATCH
   */
  async ackStrict(batchId: bigint, messageIds?: readonly bigint[]): Promise<void> {
    refuse("ackStrict", [id("batchId", batchId), messageIds && ids("messageIds", messageIds)]);
    await functions.ackStrict(this.#db, batchId, messageIds ?? null);
  }

  /**
   * Gives messages of a batch back, to be tried again later, or as dead letters when their attempts are used up.
   *
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   */
  async nack(batchId: bigint, messageIds: readonly bigint[], options: NackOptions = {}): Promise<number> {
    refuse("nack", [id("batchId", batchId), ids("messageIds", messageIds), ...problemsOf(options, nackChecks)]);
    const { retryAfterMs = defaults.retryAfterMs } = options;
    return functions.nack(this.#db, batchId, messageIds, retryAfterMs, storable(options.reason));
  }

  /**
   * Finishes a batch in one call: retries some messages, releases some, acks all others.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: nothing was settled
   * @throws PgqueError NOT_IN_BATCH
   */
  async settle(batchId: bigint, options: SettleOptions = {}): Promise<boolean> {
    refuse("settle", [id("batchId", batchId), ...problemsOf(options, settleChecks), ...retryProblems(options.retry)]);
    const { retry = [], release = [] } = options;
    const columns = {
      ids: retry.map((r) => r.id),
      afterMs: retry.map((r) => r.afterMs),
      reasons: retry.map((r) => storable(r.reason)),
    };
    return functions.settle(this.#db, batchId, columns, release);
  }

  /**
   * Keeps alive every batch that was received with this worker name. Send one every third of `ttlMs`.
   *
   * @param ttlMs how long it counts, in milliseconds, 1 to 86400000 (a day). Default: 15000
   * @param session what `holdSession` was given: when that connection ends, so do the worker's leases
   */
  async heartbeat(worker: string, ttlMs: number = 15_000, session?: string): Promise<void> {
    refuse("heartbeat", [
      text("worker", worker),
      integer(1, dayMs)("ttlMs", ttlMs),
      session === undefined ? undefined : text("session", session),
    ]);
    return functions.heartbeat(this.#db, worker, ttlMs, session ?? null);
  }

  /**
   * Holds a lock of that name for as long as this connection lasts, so that a crash is noticed at once: see `heartbeat`. The connection must
   * be a session of its own, not one behind a transaction pooler.
   *
   * @returns false when another session holds it, or was just looking whether one does
   */
  async holdSession(session: string): Promise<boolean> {
    refuse("holdSession", [text("session", session)]);
    return functions.holdSession(this.#db, session);
  }

  /**
   * Raises the idle flag of a queue on this connection, which must be a session of its own that never sends: from now on senders notify
   * the channel `pgque_<queue>`. Before it sleeps a worker asks `hasOpenSenders` until the answer is no, and then receives once more.
   *
   * @returns false when a sender was just looking at it: try again
   */
  async raiseIdleFlag(queue: Queue): Promise<boolean> {
    return functions.raiseIdleFlag(this.#db, queue.name);
  }

  /** Takes the idle flag of this connection down: nobody need wake it. */
  async lowerIdleFlag(queue: Queue): Promise<boolean> {
    return functions.lowerIdleFlag(this.#db, queue.name);
  }

  /** Whether somebody has sent and not committed: senders that looked before the flag was raised do not notify. */
  async hasOpenSenders(queue: Queue): Promise<boolean> {
    return functions.hasOpenSenders(this.#db, queue.name);
  }

  /**
   * Does what is due: gives messages of ended leases back, delivers what is due, rotates and truncates segments. Cheap; workers call it
   * about once a second, any number of them. Without a queue: all queues.
   *
   * @returns how many things were done
   * @throws PgqueError ISOLATION_LEVEL
   */
  async maintain(queue?: Queue): Promise<number> {
    return functions.maintain(this.#db, queue?.name ?? null);
  }

  /**
   * In how many milliseconds the next delayed message becomes due, of whatever queue: when to call `maintain` again for it to be in time.
   *
   * @returns negative when it is overdue; null when none waits within the hour
   */
  async nextDueInMs(): Promise<number | null> {
    return functions.nextDueInMs(this.#db);
  }
}
