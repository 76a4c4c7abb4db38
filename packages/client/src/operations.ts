import { Consumers } from "./admin/consumers.ts";
import { DeadLetters } from "./admin/dead-letters.ts";
import { Messages } from "./admin/messages.ts";
import { result, type MessageResult, type ResultOptions } from "./call/message-result.ts";
import { cancel, cancelByKey, type Cancellation, type CancelOptions } from "./cancel/cancel.ts";
import { Queues } from "./admin/queues.ts";
import { Schedules } from "./admin/schedules.ts";
import { consumerOptions, type SubscribeOptions } from "./admin/subscribe-options.ts";
import type { Connection } from "./connection/connection.ts";
import { queueOf, type QueueRef } from "./queue/define-queue.ts";
import { ensureConsumer, ensureQueue } from "./queue/ensure.ts";
import { ensureOptions, type Ensured, type EnsureOptions, type Subscribed } from "./queue/ensured.ts";
import type { MessageOf, MessageTypes, Sent, Telemetry } from "./types.ts";
import type { Batch } from "./receive/batch.ts";
import type { ReceiveOptions } from "./receive/receive-options.ts";
import { batches, consume, type ConsumeOptions, type Next } from "./receive/batches.ts";
import { defaultConsumer, receive } from "./receive/receive.ts";
import { Settler } from "./settle/settler.ts";
import { Runtime } from "./runtime.ts";
import type { SendArguments, SendManyOptions, SendOptions, SendStreamOptions } from "./send/send-options.ts";
import { sendStream } from "./send/send-stream.ts";
import { send, sendMany } from "./send/send.ts";
import { type Id, name } from "./options/checks.ts";
import { callProblems, refuse, type CallOptions } from "./options/option.ts";

/**
 * What can be done with queues, on one connection or pool. A queue is a value of `defineQueue`, or a name for one without schemas. Every
 * method throws a `PgqueError`: INVALID_OPTION before anything is sent; SCHEMA_NOT_INSTALLED, SCHEMA_VERSION, QUEUE_NOT_FOUND,
 * ACCESS_DENIED, DATABASE_UNREACHABLE, READ_ONLY or CONNECTION_LOST from the database; and what its own description names. Other errors of
 * Postgres come through as they are.
 */
export class Operations extends Settler {
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

  constructor(db: Connection) {
    super(db);
    this.#db = db;
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
   * @returns its id; with a `dedupeKey` that another message has, that one's, and `deduplicated`
   * @throws PgqueError PAYLOAD_INVALID, PAYLOAD_NOT_JSON, INVALID_ARGUMENT when it is larger than the queue allows
   * @example
   * const { id } = await pgque.send(orders, { orderId: 42 });
   * await pgque.send(orders, { orderId: 43 }, { delayMs: 60_000, dedupeKey: "order-43" });
   * await pgque.send(events, { orderId: 44 }, { type: "created" }); // a queue that names its types
   */
  async send<Types extends MessageTypes, Type extends keyof Types & string>(
    queue: QueueRef<Types>,
    payload: NoInfer<Types[Type]["input"]>,
    ...optionsWithType: SendArguments<Types, Type, SendOptions>
  ): Promise<Sent> {
    return send(this.#db, queue, payload, optionsWithType[0]);
  }

  /**
   * Sends many messages in one statement: all or none.
   *
   * @param optionsWithType for each of them
   * @returns what became of each, in the order of the payloads
   * @throws PgqueError as `send`, with all issues of all payloads
   * @example
   * const sent = await pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 2 }], { headers: { tenant: "a" } });
   */
  async sendMany<Types extends MessageTypes, Type extends keyof Types & string>(
    queue: QueueRef<Types>,
    payloads: readonly NoInfer<Types[Type]["input"]>[],
    ...optionsWithType: SendArguments<Types, Type, SendManyOptions>
  ): Promise<Sent[]> {
    return sendMany(this.#db, queue, payloads, optionsWithType[0]);
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
    ...optionsWithType: SendArguments<Types, Type, SendStreamOptions>
  ): Promise<number> {
    return sendStream(this.#db, queue, source, optionsWithType[0]);
  }

  /**
   * Cancels messages of a queue with `allowCancel`: those that wait, are delayed, or are to be tried again. `cancelled` is the answer if and only
   * if no handler is given the message after the commit. For all consumers, those that come later too, unless options name one. In a transaction
   * their receives wait until it ends. The role needs the right to receive.
   *
   * @param ids as `send` returned them; at most 1000
   * @returns what became of each for each consumer
   * @throws PgqueError INVALID_ARGUMENT for a queue without `allowCancel`; CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   * @example
   * const { id } = await pgque.send(reminders, { orderId: 42 }, { delayMs: 86_400_000 });
   * for (const { consumer, state } of await pgque.cancel(reminders, id)) console.log(consumer, state);
   */
  async cancel(queue: QueueRef, ids: Id | readonly Id[], options: CancelOptions = {}): Promise<Cancellation[]> {
    return cancel(this.#db, queue, ids, options);
  }

  /**
   * The same for the messages that were sent with these dedupe keys. A key whose message was cancelled for all is free again.
   *
   * @param keys at most 1000; those that nobody has are passed over
   * @throws PgqueError as `cancel`
   * @example
   * await pgque.send(reminders, { orderId: 42 }, { delayMs: 86_400_000, dedupeKey: "order-42" });
   * await pgque.cancelByKey(reminders, "order-42");
   */
  async cancelByKey(
    queue: QueueRef,
    keys: string | readonly string[],
    options: CancelOptions = {},
  ): Promise<Cancellation[]> {
    return cancelByKey(this.#db, queue, keys, options);
  }

  /**
   * What came of a message that was sent with `resultTtlMs`: what its handler gave to `done`, or why it is a dead letter. The role needs the right to
   * receive from the queue, or to look at all.
   *
   * @param id as `send` returned it
   * @returns undefined while it is not known, and when its time is over
   * @example
   * const { id } = await pgque.send(reports, { kind: "daily" }, { resultTtlMs: 3_600_000 });
   * const found = await pgque.result(reports, id);
   * if (found?.state === "done") console.log(found.result);
   */
  async result(queue: QueueRef, id: Id, options: ResultOptions = {}): Promise<MessageResult | undefined> {
    return result(this.#db, queue, id, options);
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
    return receive(this.#db, this, queue, options);
  }

  /**
   * Receives batch after batch until nothing is left. When the loop asks for the next batch, what is not settled of the last is acked, in one call
   * with the receive where that can be. When the loop is left early, by `break` or an error, that is given back at once.
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
    return batches(this.#next(queue, options), options.signal);
  }

  /**
   * The same, and waits for more when nothing is left: 25 ms, doubling to a second, unless options say otherwise. Ends when `signal` is aborted,
   * after the last batch was acked. A worker of `@pgque/worker` does more: it is woken, handles messages in parallel and keeps leases.
   *
   * @throws PgqueError as `receive`; a connection that is lost in a call ends the loop
   * @example
   * for await (const batch of pgque.consume(orders, { signal: AbortSignal.timeout(1000) })) {
   *   for (const { payload } of batch) await charge(payload.orderId);
   * }
   */
  consume<Types extends MessageTypes>(
    queue: QueueRef<Types>,
    options: ConsumeOptions = {},
  ): AsyncGenerator<Batch<MessageOf<Types>>, void> {
    const { pollMinMs: _min, pollMaxMs: _max, ...receiving } = options;
    return consume(this.#next(queue, receiving), options);
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

  /** What a loop calls for its next batch. Where calls are watched each ack is one of its own. */
  #next<Types extends MessageTypes>(queue: QueueRef<Types>, options: ReceiveOptions): Next<Batch<MessageOf<Types>>> {
    return {
      acks: this.#db.telemetry === undefined,
      receive: async (finished) => {
        try {
          return await receive(this.#db, this, queue, options, { finished });
        } catch (error) {
          // given up, and with it the ack
          if (finished !== undefined && options.signal?.aborted) await this.ack(finished);
          throw error;
        }
      },
    };
  }
}
