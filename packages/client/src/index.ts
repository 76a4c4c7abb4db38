import "./node-version.ts";

export { Pgque, type TransactionOperations } from "./pgque.ts";
export { sharded, type Shards } from "./sharded.ts";
export type { PgqueOptions } from "./options/client-options.ts";
export type { Operations } from "./operations.ts";
export type { Queryable, Statement } from "./connection/queryable.ts";
export type { Transaction } from "./adapters/in-transaction.ts";
export type { DrizzleTransaction } from "./adapters/drizzle.ts";
export type { KnexTransaction } from "./adapters/knex.ts";
export type { KyselyTransaction } from "./adapters/kysely.ts";
export type { PgTransaction } from "./adapters/pg.ts";
export type { PostgresJsTransaction } from "./adapters/postgres-js.ts";
export type { PrismaTransaction } from "./adapters/prisma.ts";

export {
  defineQueue,
  queueOf,
  type Queue,
  type QueueDefinition,
  type QueueRef,
  type TypesOf,
} from "./queue/define-queue.ts";
export type { Ensured, EnsureOptions, Subscribed } from "./queue/ensured.ts";
export type { AnyType, MessageOf, MessageTypes, PayloadTypes } from "./types.ts";
export type { QueueDefaults } from "./queue/queue-defaults.ts";
export type { QueueChanges, QueueOptions, QueueSettings } from "./queue/queue-options.ts";

export { longestDelayMs } from "./send/send-options.ts";
export type { SendArguments, SendManyOptions, SendOptions, SendStreamOptions } from "./send/send-options.ts";

export type { MessageResult, ResultOptions } from "./call/message-result.ts";
export type { ReplyOf, ReplyOptions } from "./call/reply-options.ts";

export type { Cancellation, CancelOptions } from "./cancel/cancel.ts";

export { defaultConsumer } from "./receive/receive.ts";
export type { Batch, MessageOutcome } from "./receive/batch.ts";
export type { Headers, InvalidMessage, Message, Sent } from "./types.ts";
export type { ConsumeOptions } from "./receive/batches.ts";
export type { ReceiveOptions } from "./receive/receive-options.ts";
export type {
  Dead,
  NackOptions,
  Result,
  ResultsOptions,
  Retry,
  SettleOptions,
  Snooze,
} from "./settle/settle-options.ts";

export type { Consumers } from "./admin/consumers.ts";
export type {
  DeadLetter,
  DeadLetterFilter,
  ListDeadLettersOptions,
  PurgeDeadLettersOptions,
  RedriveOptions,
} from "./admin/dead-letter-options.ts";
export type { DeadLetters } from "./admin/dead-letters.ts";
export type {
  TailPage,
  TailOptions,
  FoundMessage,
  MessageState,
  ReportedProgress,
  StoredStep,
  PeekedMessage,
  PeekOptions,
} from "./admin/message-options.ts";
export type { Messages } from "./admin/messages.ts";
export type {
  ConsumerSettings,
  ConsumerStatus,
  QueueStatus,
  HeldLock,
  SegmentStatus,
  WorkerStatus,
} from "./admin/queue-status.ts";
export type { DeliverDelayedOptions, DropOptions, HeldLocksOptions, Queues } from "./admin/queues.ts";
export type { CatchUp } from "./admin/catch-up.ts";
export type { Schedule, ScheduleOptions } from "./admin/schedule-options.ts";
export type { Schedules } from "./admin/schedules.ts";
export type { ConsumerChanges, ConsumerLimits, Position, SubscribeOptions } from "./admin/subscribe-options.ts";
export type { Borrowed } from "./connection/borrowed.ts";
export type { Address } from "./connection/address.ts";
export type { SendOperation, SettleOperation, Source, Telemetry, TelemetryFactory } from "./types.ts";
export type { Runtime } from "./runtime.ts";
export type { CallOptions } from "./options/option.ts";
export type { Id } from "./options/checks.ts";

export { connectHint } from "./errors/connect-hint.ts";
export {
  errorCodes,
  isPgqueError,
  PgqueError,
  type OptionDifference,
  type PayloadIssue,
  type PgqueErrorCode,
  type PgqueErrorDetails,
  type PgqueErrorOptions,
} from "./errors/errors.ts";
