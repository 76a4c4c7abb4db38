import type { Message, Pgque, Queue } from "@pgque/client";
import { headerOptionsOf } from "@pgque/client/options";
import { answered } from "../connection/answer.ts";
import type { Logger } from "../log.ts";
import type { Outcome } from "./outcome.ts";
import { pause } from "../connection/pause.ts";

/** How soon a worker knows that somebody has changed the queue's `maxRetries`, at the latest. */
const rereadMs = 30_000;

/**
 * Which attempt at a message is the last, as far as a worker knows: it asks at its start and now and then. The database decides, when the message
 * is settled, so a worker still says `retry` to it.
 */
export class Attempts {
  #maxRetries = Number.POSITIVE_INFINITY;

  /** Of the queue; Infinity before it was asked for. */
  get maxRetries(): number {
    return this.#maxRetries;
  }

  /** Of a message: its own, or the queue's. */
  maxRetriesOf({ headers }: Pick<Message, "headers">): number {
    return headerOptionsOf(headers).maxRetries ?? this.#maxRetries;
  }

  /** Whether there is no attempt after this one. */
  isLast(message: Pick<Message, "attempt" | "headers">): boolean {
    return message.attempt > this.maxRetriesOf(message);
  }

  /** What the database is going to make of an outcome. */
  foreseen(message: Message, outcome: Outcome): Outcome {
    if (outcome.kind !== "retry" || !this.isLast(message)) return outcome;
    return { kind: "dead", reason: outcome.reason, error: outcome.error };
  }

  /** @throws PgqueError of the database */
  async read(pgque: Pgque, queue: Queue, queryTimeoutMs: number, stopping: AbortSignal): Promise<void> {
    this.#maxRetries = await answered(queryTimeoutMs, (late) =>
      pgque.runtime.maxRetries(queue, { signal: AbortSignal.any([late, stopping]) }),
    );
  }

  /** Reads it anew at intervals until the signal is aborted. Never rejects: without an answer it is what it was. */
  async keep(
    pgque: Pgque,
    queue: Queue,
    { queryTimeoutMs, log }: { queryTimeoutMs: number; log: Logger },
    stopping: AbortSignal,
    intervalMs = rereadMs,
  ): Promise<void> {
    for (;;) {
      await pause(intervalMs, stopping);
      if (stopping.aborted) return;
      await this.read(pgque, queue, queryTimeoutMs, stopping).catch((error: unknown) =>
        log.debug("asking for `maxRetries` failed, will try again", { error }),
      );
    }
  }
}
