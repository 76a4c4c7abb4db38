import type { Message, PgqueError } from "@pgque/client";
import type { Outcome } from "../execute/outcome.ts";

/** What a worker does with the database, each in its own rhythm. */
export type Part = "receiving" | "settling" | "heartbeat" | "maintenance" | "scheduling";

/** What becomes of a message that failed: it comes again in `afterMs`, or is a dead letter. */
export type FailedOutcome = Extract<Outcome, { kind: "retry" | "dead" }>;

/**
 * What a worker tells, and what with. Each message that it received ends, for it, in exactly one of `done`, `failed`, `snoozed` and
 * `released`, before the database knows.
 */
export interface WorkerEvents {
  /** It receives from now on. */
  started: Record<string, never>;
  /** `stop()` was called: so many handlers run, so many messages are held. */
  stopping: { running: number; held: number };
  /** So many batches are left to the end of their lease, because the database did not hear of them; 0 as a rule. */
  stopped: { openBatches: number };
  /** A receive was answered: so many messages came. 0: nothing was there. */
  received: { count: number };
  /** A handler is called with these: one message, or those of a batch. */
  handlerStarted: { messages: readonly Message[] };
  /** That call is over, however it ended. */
  handlerFinished: { messages: readonly Message[]; durationMs: number };
  /** It was handled well. In a batch `durationMs` is that of the call. */
  done: { message: Message; durationMs: number };
  /** Its handler threw `error`, took longer than `timeoutMs`, or asked for a retry or a dead letter, `error` being undefined then; or it is of no use to a handler. */
  failed: { message: Message; error: unknown; outcome: FailedOutcome; durationMs: number };
  /** It comes again in so many milliseconds. */
  snoozed: { message: Message; afterMs: number; durationMs: number };
  /** It was not handled, because the worker stops or the message before it failed, and is given back. */
  released: { message: Message };
  /**
   * It failed, and is a dead letter: its attempts are used up, or an `UnrecoverableError`, `deadLetter()`, `maxAgeMs` or `unknownType` says so. For
   * half a minute after a change of the queue's `maxRetries` a worker may count attempts by the old one; the database counts by the new.
   */
  deadLettered: { message: Message; reason: string; error: unknown };
  /** There is no handler for its type; then what the option `unknownType` says. */
  unknownType: { message: Message };
  /** It does not fit the queue's schema; then `failed`. Its payload is the JSON as it was found, or the text. */
  invalid: { message: Message; error: PgqueError };
  /** So many messages of a batch are settled; `isFinished`: and so is the batch. */
  settled: { batchId: string; count: number; isFinished: boolean };
  /** The database says that the batch is not this worker's any more: so many messages that it had handled come again. */
  leaseLost: { batchId: string; count: number };
  /** A part of the worker is not answered, or refused. It tries again, which is not told. */
  databaseLost: { part: Part; error: unknown };
  /** That part is answered again. */
  databaseRecovered: { part: Part; lostForMs: number };
  /** It has nothing to do, and will be woken by what is sent. Told when that changes. */
  listening: Record<string, never>;
  /** It has nothing to do, and looks again and again: nothing wakes it, or its connection for that is not there just now. Told when that changes. */
  polling: Record<string, never>;
  /** It sent the message of a schedule for one of its times; others that came later are not told. */
  scheduleRun: { schedule: string; at: Date; messageId: string };
}

/** The name of something that a worker tells. */
export type WorkerEventName = keyof WorkerEvents;

/** All of them: the compiler refuses a missing one. */
export const workerEventNames: Readonly<Record<WorkerEventName, true>> = {
  started: true,
  stopping: true,
  stopped: true,
  received: true,
  handlerStarted: true,
  handlerFinished: true,
  done: true,
  failed: true,
  snoozed: true,
  released: true,
  deadLettered: true,
  unknownType: true,
  invalid: true,
  settled: true,
  leaseLost: true,
  databaseLost: true,
  databaseRecovered: true,
  listening: true,
  polling: true,
  scheduleRun: true,
};

/** Whoever is told. What it returns has no meaning, and what it throws is logged. */
export type WorkerListener<Name extends WorkerEventName> = (data: WorkerEvents[Name]) => unknown;
