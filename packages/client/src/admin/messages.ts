import type { Connection } from "../connection/connection.ts";
import { resultOptions, type ResultOptions } from "../call/message-result.ts";
import { defaultConsumer } from "../receive/receive.ts";
import * as queries from "../queries/messages.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import { type Id, id as idCheck } from "../options/checks.ts";
import { callProblems, refuse, type CallOptions } from "../options/option.ts";
import {
  tailOptions,
  peekOptions,
  type TailPage,
  type TailOptions,
  type FoundMessage,
  type PeekedMessage,
  type PeekOptions,
  type ReportedProgress,
  type StoredStep,
} from "./message-options.ts";

/** Looking at single messages; nothing is received or changed. The role needs `<schema>_viewer`. */
export class Messages {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Messages that are there, and then those that are delayed.
   *
   * @throws PgqueError CONSUMER_NOT_FOUND, INVALID_ARGUMENT for a position that is none
   * @example
   * const page = await pgque.messages.peek(orders, { consumer: "default" });
   * const next = await pgque.messages.peek(orders, { consumer: "default", after: page.at(-1)?.position });
   */
  async peek(queue: QueueRef, options: PeekOptions = {}): Promise<PeekedMessage[]> {
    refuse("messages.peek", callProblems(options, peekOptions));
    return queries.peek(this.#db, queueOf("messages.peek", queue).name, options);
  }

  /**
   * What was sent since a position, whoever has received it, by transactions that have committed: none is shown twice, and none passed over that
   * began earlier and committed later. Retries are not shown, a delayed message once it is due. Does not wait: ask again after a while. What was
   * received by all and truncated before it was asked for is not shown.
   *
   * @throws PgqueError INVALID_ARGUMENT for a position that is none
   * @example
   * const { position } = await pgque.messages.tail(orders);
   * const { messages } = await pgque.messages.tail(orders, { after: position }); // what was sent since
   */
  async tail(queue: QueueRef, options: TailOptions = {}): Promise<TailPage> {
    refuse("messages.tail", callProblems(options, tailOptions));
    return queries.tail(this.#db, queueOf("messages.tail", queue).name, options);
  }

  /**
   * What is still known of a message, for each consumer; empty when nothing is: it was never sent, or is settled by all and its segment given
   * back. For people: it reads all that the queue keeps.
   *
   * @param id as `send` returned it
   * @example
   * const { id } = await pgque.send(orders, { orderId: 42 });
   * for (const { state, consumer } of await pgque.messages.find(orders, id)) console.log(consumer, state);
   */
  async find(queue: QueueRef, id: Id, options: CallOptions = {}): Promise<FoundMessage[]> {
    refuse("messages.find", [idCheck("id", id), ...callProblems(options)]);
    return queries.findMessage(this.#db, queueOf("messages.find", queue).name, String(id), options.signal);
  }

  /**
   * What the handlers of a message have reported in the last day, the oldest first: lines of their logs, and of each attempt the latest `context.progress`.
   *
   * @param id as `send` returned it
   * @param options `consumer`: whose handlers. Default: `default`
   * @example
   * const { id } = await pgque.send(orders, { orderId: 42 });
   * for (const { kind, value } of await pgque.messages.progress(orders, id)) console.log(kind, value);
   */
  async progress(queue: QueueRef, id: Id, options: ResultOptions = {}): Promise<ReportedProgress[]> {
    refuse("messages.progress", [idCheck("id", id), ...callProblems(options, resultOptions)]);
    const { consumer = defaultConsumer, signal } = options;
    return queries.progress(this.#db, queueOf("messages.progress", queue).name, String(id), consumer, signal);
  }

  /**
   * What the handler of a message has stored on its way with `context.step`, the oldest first; of one that is done for a while longer.
   *
   * @param id as `send` returned it
   * @param options `consumer`: whose handler. Default: `default`
   * @example
   * const { id } = await pgque.send(orders, { orderId: 42 });
   * for (const { step, result } of await pgque.messages.steps(orders, id)) console.log(step, result);
   */
  async steps(queue: QueueRef, id: Id, options: ResultOptions = {}): Promise<StoredStep[]> {
    refuse("messages.steps", [idCheck("id", id), ...callProblems(options, resultOptions)]);
    const { consumer = defaultConsumer, signal } = options;
    return queries.steps(this.#db, queueOf("messages.steps", queue).name, String(id), consumer, signal);
  }
}
