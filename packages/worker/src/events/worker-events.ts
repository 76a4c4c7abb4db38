import type { Message, PgqueError } from "@pgque/client";
import type { Outcome } from "../execute/outcome.ts";

/** What a worker does with the database, each in its own rhythm. */
export type Part = "receiving" | "settling" | "heartbeat" | "maintenance" | "scheduling";

/** What becomes of a message that failed: it comes again in `afterMs`, or is a dead letter. */
export type FailedOutcome = Extract<Outcome, { kind: "retry" | "dead" }>;

interface Tells<Data> {
  data?: Data;
}

/** By name, with what each tells. */
export const workerEventNames = {
  /** It receives from now on. */
  started: {} as Tells<Record<string, never>>,
  /** `stop()` was called: so many handlers run, so many messages are held. */
  stopping: {} as Tells<{ running: number; held: number }>,
  /** So many batches are left to the end of their lease, because the database did not hear of them; 0 as a rule. */
  stopped: {} as Tells<{ openBatches: number }>,
  /** A receive was answered: so many messages came. 0: nothing was there. */
  received: {} as Tells<{ count: number }>,
  /** A handler is called with these: one message, or those of a batch. */
  handlerStarted: {} as Tells<{ messages: readonly Message[] }>,
  /** That call is over, however it ended. */
  handlerFinished: {} as Tells<{ messages: readonly Message[]; durationMs: number }>,
  /** It was handled well. In a batch `durationMs` is that of the call. */
  done: {} as Tells<{ message: Message; durationMs: number }>,
  /** Its handler threw `error`, took longer than `timeoutMs`, or asked for a retry or a dead letter, `error` being undefined then; or it is of no use to a handler. */
  failed: {} as Tells<{ message: Message; error: unknown; outcome: FailedOutcome; durationMs: number }>,
  /** It comes again in so many milliseconds. */
  snoozed: {} as Tells<{ message: Message; afterMs: number; durationMs: number }>,
  /** It was cancelled while the worker had it: its handler was not called, or failed after its signal was aborted. It does not come again. */
  cancelled: {} as Tells<{ message: Message; durationMs: number }>,
  /** It was not handled, because the worker stops or the message before it failed, and is given back. */
  released: {} as Tells<{ message: Message }>,
  /**
   * It failed, and is a dead letter: its attempts are used up, or an `UnrecoverableError`, `deadLetter()`, `maxAgeMs` or `unknownType` says so. For
   * half a minute after a change of the queue's `maxRetries` a worker may count attempts by the old one; the database counts by the new.
   */
  deadLettered: {} as Tells<{ message: Message; reason: string; error: unknown }>,
  /** There is no handler for its type; then what the option `unknownType` says. */
  unknownType: {} as Tells<{ message: Message }>,
  /** It does not fit the queue's schema; then `failed`. Its payload is the JSON as it was found, or the text. */
  invalid: {} as Tells<{ message: Message; error: PgqueError }>,
  /** So many messages of a batch are settled; `isFinished`: and so is the batch. */
  settled: {} as Tells<{ batchId: string; count: number; isFinished: boolean }>,
  /** The database says that the batch is not this worker's any more: so many messages that it had handled come again. */
  leaseLost: {} as Tells<{ batchId: string; count: number }>,
  /** A part of the worker is not answered, or refused. It tries again, which is not told. */
  databaseLost: {} as Tells<{ part: Part; error: unknown }>,
  /** That part is answered again. */
  databaseRecovered: {} as Tells<{ part: Part; lostForMs: number }>,
  /** It has nothing to do, and will be woken by what is sent. Told when that changes. */
  listening: {} as Tells<Record<string, never>>,
  /** It has nothing to do, and looks again and again: nothing wakes it, or its connection for that is not there just now. Told when that changes. */
  polling: {} as Tells<Record<string, never>>,
  /** It sent the message of a schedule for one of its times; others that came later are not told. */
  scheduleRun: {} as Tells<{ schedule: string; at: Date; messageId: string }>,
};

/**
 * What a worker tells, and what with. Each message that it received ends, for it, in exactly one of `done`, `failed`, `snoozed`,
 * `cancelled` and `released`, before the database knows.
 */
export type WorkerEvents = {
  -readonly [Name in keyof typeof workerEventNames]: Required<(typeof workerEventNames)[Name]>["data"];
};

/** The name of something that a worker tells. */
export type WorkerEventName = keyof WorkerEvents;

/** Whoever is told. What it returns has no meaning, and what it throws is logged. */
export type WorkerListener<Name extends WorkerEventName> = (data: WorkerEvents[Name]) => unknown;
