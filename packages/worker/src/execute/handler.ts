import type { Message, MessageOf, MessageTypes, TransactionOperations } from "@pgque/client";
import type { PoolClient } from "pg";
import type { Logger } from "../log.ts";
import type { HandlerOutcome } from "./outcome.ts";
import type { Step } from "../steps/steps.ts";

/** What a handler of a whole batch is given beside its messages. */
export interface BatchContext {
  /** Aborted when the time limit is over, when the message was cancelled (not in a batch), or when the worker stops and this handler was not done within `shutdownTimeoutMs`. */
  readonly signal: AbortSignal;
  /** The worker's logger, with queue, consumer and worker on every line, and the message's id and attempt, or the batch's id. */
  readonly log: Logger;
  /**
   * The open transaction of a `transactional` worker: it commits, with the ack, when the handler returns. With that it is over: what the
   * handler did not wait for is refused, as CLOSED.
   *
   * @throws PgqueError INVALID_OPTION in a worker that is not
   */
  readonly tx: PoolClient;
  /** The message's own, else the queue's, as of half a minute ago at most: a message is delivered once more than that before it is a dead letter. */
  readonly maxRetries: number;
  /** Sends as `pgque.send` does, in that transaction when there is one. */
  readonly send: TransactionOperations["send"];
  /**
   * Keeps the batch for another lease from now. Heartbeats do so anyway: this is for a handler that is going to block the event loop.
   *
   * @param leaseMs 1 to 86400000 (a day). Default: 30000
   * @returns false when the lease was lost
   */
  extend(leaseMs?: number): Promise<boolean>;
}

/** What a handler is given beside its message. */
export interface HandlerContext extends BatchContext {
  /** 1 the first time the message is delivered. */
  readonly attempt: number;
  /**
   * Says how far the handler has come: a value of JSON, of 8000 characters at most, that `messages.progress`, `pgque message show` and the dashboard show. The
   * latest is written about once a second. It is kept for a day, and nothing depends on it.
   *
   * @throws PgqueError PAYLOAD_NOT_JSON, INVALID_ARGUMENT
   */
  readonly progress: (value: unknown) => void;
  /** Does parts of the handler once, however often the message is tried again. */
  readonly step: Step;
  /** Whether there is none after this one: what fails now is a dead letter, unless somebody has changed `maxRetries` just now. */
  readonly isLastAttempt: boolean;
}

/** What a handler may return: nothing, which means done, or what `done`, `retry`, `snooze` or `deadLetter` give. */
export type HandlerResult = void | HandlerOutcome;

/**
 * Handles one message: returns when it is done, throws to have it tried again later, or returns what `retry`, `snooze` or `deadLetter` give.
 * Another value does not compile; at run time it means done.
 */
export type Handler<Received extends Message = Message> = (
  message: Received,
  context: HandlerContext,
) => HandlerResult | Promise<HandlerResult>;

/** A handler for each type of message; what becomes of other types says `unknownType`. */
export type TypeHandlers<Types extends MessageTypes = MessageTypes> = string extends keyof Types
  ? Readonly<Record<string, Handler<MessageOf<Types>>>>
  : { [Type in keyof Types & string]?: Handler<Message<Types[Type]["output"], Type>> };

/**
 * Handles the messages of one receive together: returns when all are done, throws to have all tried again, or returns an array with what became
 * of each, in their order: what `done`, `retry`, `snooze` or `deadLetter` give, or undefined for done.
 */
export type BatchHandler<Received extends Message = Message> = (
  messages: readonly Received[],
  context: BatchContext,
) => BatchResult | Promise<BatchResult>;

/** What a handler of a batch may return: nothing, which means that all are done, or what became of each. */
export type BatchResult = void | readonly HandlerResult[];

/** What a worker is given to handle messages with. `IsBatch`: its option `batch`. */
export type HandlerOf<Types extends MessageTypes, IsBatch extends boolean> = IsBatch extends true
  ? BatchHandler<MessageOf<Types>>
  : Handler<MessageOf<Types>> | TypeHandlers<Types>;

/** Any of them. */
export type AnyHandler = Handler | TypeHandlers | BatchHandler;
