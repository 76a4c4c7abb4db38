import { Consumers } from "./admin/consumers.ts";
import { DeadLetters } from "./admin/dead-letters.ts";
import { Messages } from "./admin/messages.ts";
import { Queues } from "./admin/queues.ts";
import { Schedules } from "./admin/schedules.ts";
import { consumerOptions, type SubscribeOptions } from "./admin/subscribe-options.ts";
import type { Connection } from "./connection/connection.ts";
import { queueOf, type QueueRef } from "./queue/define-queue.ts";
import { ensureConsumer, ensureQueue } from "./queue/ensure.ts";
import { ensureOptions, type Ensured, type EnsureOptions, type Subscribed } from "./queue/ensured.ts";
import type { MessageOf, MessageTypes, Telemetry } from "./types.ts";
import type { Batch } from "./receive/batch.ts";
import type { ReceiveOptions } from "./receive/receive-options.ts";
import { batches, defaultConsumer, receive } from "./receive/receive.ts";
import type { NackOptions, SettleOptions } from "./settle/settle-options.ts";
import { Settler } from "./settle/settler.ts";
import { Runtime } from "./runtime.ts";
import type { SendArguments, SendManyOptions, SendOptions, SendStreamOptions } from "./send/send-options.ts";
import { sendStream } from "./send/send-stream.ts";
import { send, sendMany } from "./send/send.ts";
import { name } from "./options/checks.ts";
import { callProblems, refuse, type CallOptions } from "./options/option.ts";

/**
 * What can be done with queues, on one connection or pool. A queue is a value of `defineQueue`, or a name for one without schemas. Every
 * method throws a `PgqueError`: INVALID_OPTION before anything is sent; SCHEMA_NOT_INSTALLED, SCHEMA_VERSION, QUEUE_NOT_FOUND,
 * ACCESS_DENIED, DATABASE_UNREACHABLE, READ_ONLY or CONNECTION_LOST from the database; and what its own description names. Other errors of
 * Postgres come through as they are.
 */
export class Operations {
  /** Look at, change, pause, resume, purge, drop. */
  readonly queues: Queues;
  /** Look at, change, place in time, pause, resume, purge. */
  readonly consumers: Consumers;
  /** Look at single messages. */
  readonly messages: Messages;
  /** Look at, send again, throw away. */
  readonly deadLetters: DeadLetters;
  /** Messages that are sent again and again. */
  readonly schedules: Schedules;
  /** What keeps workers going. */
  readonly runtime: Runtime;
  /** What watches the calls; undefined when the client was made without. */
  readonly telemetry: Telemetry | undefined;
  readonly #db: Connection;
  readonly #settler: Settler;

  constructor(db: Connection) {
    this.#db = db;
    this.#settler = new Settler(db);
    this.telemetry = db.telemetry;
    this.queues = new Queues(db);
    this.consumers = new Consumers(db);
    this.messages = new Messages(db);
    this.deadLetters = new DeadLetters(db);
    this.schedules = new Schedules(db);
    this.runtime = new Runtime(db);
  }

  /**
   * Creates a queue unless it is there. One that is there is left as it is; the answer says which options of the definition it has otherwise.
   *
   * @throws PgqueError OPTIONS_DIFFER, if `strict`
   * @example
   * const { created, differences } = await pgque.ensure(orders);
   * for (const { option, wanted, found } of differences) console.log(option, "is", found, "and not", wanted);
   */
  async ensure(queue: QueueRef, options: EnsureOptions = {}): Promise<Ensured> {
    refuse("ensure", callProblems(options, ensureOptions));
    return ensureQueue(this.#db, queueOf("ensure", queue), options);
  }

  /**
   * Registers a consumer: a named reader that is given every message of the queue. One that is there is left as it is; the answer says which of
   * the options it has otherwise. Not in a transaction above READ COMMITTED.
   *
   * @param consumer any Unicode, 1 to 57 bytes of UTF-8
   * @throws PgqueError ISOLATION_LEVEL, INVALID_ARGUMENT when it is there in another mode; OPTIONS_DIFFER, if `strict`
   * @example
   * const { created, skipped } = await pgque.subscribe(orders, "billing", { maxInFlight: 100 });
   * if (created && skipped > 0) console.log("billing begins after", skipped, "messages that are there");
   */
  async subscribe(
    queue: QueueRef,
    consumer: string = defaultConsumer,
    options: SubscribeOptions = {},
  ): Promise<Subscribed> {
    refuse("subscribe", [name("consumer", consumer), ...callProblems(options, consumerOptions)]);
    return ensureConsumer(this.#db, queueOf("subscribe", queue).name, consumer, options);
  }

  /**
   * Removes a consumer, and with it what it has not received. Other consumers are not affected.
   *
   * @returns false when there was none
   * @example
   * await pgque.unsubscribe(orders, "billing");
   */
  async unsubscribe(queue: QueueRef, consumer: string = defaultConsumer, options: CallOptions = {}): Promise<boolean> {
    refuse("unsubscribe", [name("consumer", consumer), ...callProblems(options)]);
    const named = { queue: queueOf("unsubscribe", queue).name, consumer };
    return this.#db.flag("unsubscribe", named, { ...named, signal: options.signal });
  }

  /**
   * Sends one message, at once or later.
   *
   * @returns its id, or that of the first message with its `dedupeKey`
   * @throws PgqueError PAYLOAD_INVALID, PAYLOAD_NOT_JSON, INVALID_ARGUMENT when it is larger than the queue allows
   * @example
   * const id = await pgque.send(orders, { orderId: 42 });
   * await pgque.send(orders, { orderId: 43 }, { delayMs: 60_000, dedupeKey: "order-43" });
   * await pgque.send(events, { orderId: 44 }, { type: "created" }); // a queue that names its types
   */
  async send<Types extends MessageTypes, Type extends keyof Types & string>(
    queue: QueueRef<Types>,
    payload: NoInfer<Types[Type]["input"]>,
    ...[options]: SendArguments<Types, Type, SendOptions>
  ): Promise<string> {
    return send(this.#db, queue, payload, options);
  }

  /**
   * Sends many messages in one statement: all or none.
   *
   * @param options for each of them
   * @returns their ids in the order of the payloads
   * @throws PgqueError as `send`, with all issues of all payloads
   * @example
   * const ids = await pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 2 }], { headers: { tenant: "a" } });
   */
  async sendMany<Types extends MessageTypes, Type extends keyof Types & string>(
    queue: QueueRef<Types>,
    payloads: readonly NoInfer<Types[Type]["input"]>[],
    ...[options]: SendArguments<Types, Type, SendManyOptions>
  ): Promise<string[]> {
    return sendMany(this.#db, queue, payloads, options);
  }

  /**
   * Sends what an iterable yields, in statements of many messages each, with two batches in memory at most. Each statement is a transaction
   * of its own, unless it is one of the caller's: after a failure what `onSent` was told of is sent, what came after it is not.
   *
   * @returns how many were sent
   * @throws PgqueError as `send`; what the source throws comes through
   * @example
   * async function* rows() {
   *   for (let orderId = 1; orderId <= 5000; orderId += 1) yield { orderId };
   * }
   * const sent = await pgque.sendStream(orders, rows(), { batchSize: 500 });
   */
  async sendStream<Types extends MessageTypes, Type extends keyof Types & string>(
    queue: QueueRef<Types>,
    source: AsyncIterable<NoInfer<Types[Type]["input"]>> | Iterable<NoInfer<Types[Type]["input"]>>,
    ...[options]: SendArguments<Types, Type, SendStreamOptions>
  ): Promise<number> {
    return sendStream(this.#db, queue, source, options);
  }

  /**
   * Receives messages, oldest first, and leases them. Does not wait: with nothing there the batch is empty. Not in a transaction above
   * READ COMMITTED; in one, the consumer's other receivers wait until it ends, and what it sent itself is received after it.
   *
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   * @example
   * const batch = await pgque.receive(orders, { max: 50, leaseMs: 60_000, signal: AbortSignal.timeout(5000) });
   * for (const { payload } of batch) await charge(payload.orderId);
   * await batch.ack();
   */
  async receive<Types extends MessageTypes>(
    queue: QueueRef<Types>,
    options: ReceiveOptions = {},
  ): Promise<Batch<MessageOf<Types>>> {
    return receive(this.#db, this.#settler, queue, options);
  }

  /**
   * Receives batch after batch until nothing is left; to wait for more is a worker's job. When the loop asks for the next batch, what is not
   * settled of the last is acked; when it is left early, by `break` or an error, that is given back at once.
   *
   * @throws PgqueError as `receive`
   * @example
   * for await (const batch of pgque.batches(orders)) {
   *   for (const { payload } of batch) await charge(payload.orderId);
   * }
   */
  batches<Types extends MessageTypes>(
    queue: QueueRef<Types>,
    options: ReceiveOptions = {},
  ): AsyncGenerator<Batch<MessageOf<Types>>, void> {
    return batches(() => this.receive(queue, options));
  }

  /**
   * Acks messages of a batch; without ids all that are not settled yet, whether they fit the schema or not.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: the messages may be delivered again
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * if (batch.id !== null) await pgque.ack(batch.id);
   */
  async ack(batchId: string, messageIds?: readonly string[], options: CallOptions = {}): Promise<boolean> {
    return this.#settler.ack(batchId, messageIds, options);
  }

  /**
   * Acks as `ack` does, in the transaction that does the messages' work, and fails when the lease is lost, or a message that is named was
   * settled before: the transaction rolls back, and the work is that of whoever has the messages now. While it is open the lease is not
   * taken away.
   *
   * @throws PgqueError LEASE_LOST, NOT_IN_BATCH
   * @example
   * // in the transaction that did the work
   * if (batch.id !== null) await pgque.inTransaction(tx).ackStrict(batch.id);
   */
  async ackStrict(batchId: string, messageIds?: readonly string[], options: CallOptions = {}): Promise<void> {
    return this.#settler.ackStrict(batchId, messageIds, options);
  }

  /**
   * Gives messages of a batch back, to be tried again later, or as dead letters when their attempts are used up.
   *
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const ids = batch.messages.map((message) => message.id);
   * if (batch.id !== null) await pgque.nack(batch.id, ids, { retryAfterMs: 5000, reason: "gateway timeout" });
   */
  async nack(batchId: string, messageIds: readonly string[], options: NackOptions = {}): Promise<number> {
    return this.#settler.nack(batchId, messageIds, options);
  }

  /**
   * Gives messages of a batch back, to come again after `afterMs` at the same attempt, as often as you like.
   *
   * @param afterMs in milliseconds, fractions are rounded. 0 to a hundred years
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const ids = batch.messages.map((message) => message.id);
   * if (batch.id !== null) await pgque.snooze(batch.id, ids, 60_000);
   */
  async snooze(
    batchId: string,
    messageIds: readonly string[],
    afterMs: number,
    options: CallOptions = {},
  ): Promise<number> {
    return this.#settler.snooze(batchId, messageIds, afterMs, options);
  }

  /**
   * Makes dead letters of messages of a batch now, whatever attempts they have left.
   *
   * @param reason kept with the dead letters. Default: none
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const ids = batch.messages.map((message) => message.id);
   * if (batch.id !== null) await pgque.bury(batch.id, ids, "no such order");
   */
  async bury(
    batchId: string,
    messageIds: readonly string[],
    reason?: string | null,
    options: CallOptions = {},
  ): Promise<number> {
    return this.#settler.bury(batchId, messageIds, reason, options);
  }

  /**
   * Finishes a batch in one call: retries some messages, releases some, snoozes some, makes dead letters of some, acks all others.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: nothing was settled
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const [first] = batch.messages;
   * if (batch.id !== null && first) await pgque.settle(batch.id, { retry: [{ id: first.id, afterMs: 5000, reason: "declined" }] });
   */
  async settle(batchId: string, options: SettleOptions = {}): Promise<boolean> {
    return this.#settler.settle(batchId, options);
  }

  /**
   * Keeps a batch, and all others of its worker name, for another lease from now; one that is longer stays as it is.
   *
   * @param leaseMs in milliseconds, 1 to 86400000 (a day). Default: 30000
   * @returns false when the lease was lost, or the batch is unknown or finished
   * @example
   * if (batch.id !== null && !(await pgque.extend(batch.id, 120_000))) throw new Error("somebody else has it by now");
   */
  async extend(batchId: string, leaseMs?: number, options: CallOptions = {}): Promise<boolean> {
    return this.#settler.extend(batchId, leaseMs, options);
  }

  /**
   * Does what is due: gives messages of ended leases back, delivers what is due, rotates and truncates segments. Cheap; workers call it
   * about once a second, any number of them. Without a queue: all queues.
   *
   * @returns how many things were done
   * @throws PgqueError ISOLATION_LEVEL
   * @example
   * await pgque.maintain(); // where no worker runs, about once a second
   */
  async maintain(queue?: QueueRef, options: CallOptions = {}): Promise<number> {
    refuse("maintain", callProblems(options));
    const queueName = queue === undefined ? null : queueOf("maintain", queue).name;
    return this.#db.count("maintain", { queue: queueName }, { ...options, queue: queueName, idempotent: true });
  }
}
