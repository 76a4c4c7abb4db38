export { Pgque, type PgqueOptions, type TransactionOperations } from "./pgque.ts";
export { defineQueue, type Queue, type QueueDefinition, type QueueOptions } from "./queue.ts";
export { defaultConsumer, type Operations, type ReceiveOptions } from "./operations.ts";
export type { Batch } from "./batch.ts";
export type { Headers, InvalidMessage, Message } from "./message.ts";
export type { NackOptions, Retry, SettleOptions } from "./settle-options.ts";
export type { Executor, Statement } from "./executor.ts";
export {
  errorCodes,
  PgqueError,
  type PayloadIssue,
  type PgqueErrorCode,
  type PgqueErrorDetails,
  type PgqueErrorOptions,
} from "./errors.ts";
export type { SendManyOptions, SendOptions } from "./send-options.ts";
export type { Position, SubscribeOptions } from "./subscribe-options.ts";
