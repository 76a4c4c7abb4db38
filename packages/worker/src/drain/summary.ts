import type { Message } from "@pgque/client";
import type { Attempts } from "../execute/attempts.ts";
import type { Lease } from "../lease/lease.ts";
import { OpenBatch } from "../settle/open-batch.ts";
import type { Outcome } from "../execute/outcome.ts";

/** A message whose handler failed, and what it threw. */
export interface Failure {
  readonly message: Message;
  /** What the handler threw; for a payload that does not fit the queue's schema, and after a time limit, the error that says so. */
  readonly error: unknown;
}

/** What became of the messages that `runOnce` or `drain` handled. One that came twice counts twice. */
export interface RunSummary {
  /** Acked. */
  readonly done: number;
  /** To be tried again, because the handler failed or asked for it. */
  readonly retried: number;
  /** To be handed out again without using an attempt. */
  readonly snoozed: number;
  /** Dead letters: their attempts were used up, or the handler said so. */
  readonly dead: number;
  /** Cancelled while they were in hand: they do not come again. */
  readonly cancelled: number;
  /** Given back unhandled: the call was aborted, or in an ordered consumer's lane a message before them waits. */
  readonly released: number;
  /** Those whose handler failed, dead or tried again, in that order; the first thousand. */
  readonly failures: readonly Failure[];
}

/** So many failures are kept; a drain of a million messages may have as many. */
const failuresMax = 1000;

/** Counts outcomes as they are recorded. */
export class Tally {
  readonly #attempts: Attempts;
  readonly #onFailure: (failure: Failure) => void;
  readonly #counts = { done: 0, retried: 0, snoozed: 0, dead: 0, cancelled: 0, released: 0 };
  readonly #failures: Failure[] = [];
  readonly #errors = new Map<string, { error: unknown }>();

  constructor(attempts: Attempts, onFailure: (failure: Failure) => void) {
    this.#attempts = attempts;
    this.#onFailure = onFailure;
  }

  get summary(): RunSummary {
    return { ...this.#counts, failures: [...this.#failures] };
  }

  /** The message failed; what becomes of it is recorded next. */
  failed(message: Message, error: unknown): void {
    this.#errors.set(message.id, { error });
  }

  record(message: Message, outcome: Outcome): void {
    const { kind } = this.#attempts.foreseen(message, outcome);
    this.#counts[counted[kind]] += 1;
    const failed = this.#errors.get(message.id);
    this.#errors.delete(message.id);
    if (failed === undefined || (kind !== "retry" && kind !== "dead")) return;
    const failure = { message, error: failed.error };
    if (this.#failures.length < failuresMax) this.#failures.push(failure);
    this.#onFailure(failure);
  }
}

const counted = {
  done: "done",
  retry: "retried",
  snooze: "snoozed",
  dead: "dead",
  cancel: "cancelled",
  release: "released",
} as const;

/** A batch whose outcomes are counted, each once. */
export class CountedBatch extends OpenBatch {
  readonly #tally: Tally;
  readonly #messages: readonly Message[];

  /** `messages`: by their places. */
  constructor(id: string, worker: string, messages: readonly Message[], lease: Lease, tally: Tally) {
    super(id, worker, messages.length, lease);
    this.#tally = tally;
    this.#messages = messages;
  }

  override record(index: number, messageId: string, outcome: Outcome): boolean {
    const isFirst = super.record(index, messageId, outcome);
    const message = this.#messages[index];
    if (isFirst && message) this.#tally.record(message, outcome);
    return isFirst;
  }
}
