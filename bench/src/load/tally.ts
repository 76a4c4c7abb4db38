import { Latencies } from "../measure/histogram.ts";

/** One that looks closer at what is sent and received. */
export interface MessageWatch {
  sent(messages: number, dueMs: number): void;
  received(dueMs: number, latencyMs: number): void;
}

/**
 * What was sent and what was finished, counted here and not in the database: a counter row would bloat by itself and
 * measure nothing but that.
 */
export class Tally {
  /** Told of every message by the time it was due. Default: nobody is. */
  watch: MessageWatch | null = null;
  enqueued = 0;
  /** Were due and never sent, because the sends before them took until the time was up. */
  unsent = 0;
  /** Finished messages only; an empty receive counts nothing. */
  dequeued = 0;
  /** From the time a message was meant to be sent until a consumer had it in hand. */
  latency = new Latencies();
  /** Told how long each statement took that picked and locked messages and found some. Null: nobody asks. */
  picks: Pick<Latencies, "record"> | null = null;

  /** `dueMs`: when all of them were due, for the watch; a load that is not watched need not say. */
  sent(messages: number, dueMs?: number): void {
    this.enqueued += messages;
    if (dueMs !== undefined) this.watch?.sent(messages, dueMs);
  }

  /** They were under way at least until now, which is what their latency counts as: to leave them out would make a stall look short. */
  notSent(messages: number, dueMs: number): void {
    this.unsent += messages;
    this.latency.record(performance.now() - dueMs);
  }

  received(dueMs: number): void {
    const latencyMs = performance.now() - dueMs;
    this.latency.record(latencyMs);
    this.watch?.received(dueMs, latencyMs);
  }

  /** Runs the statement by which a system picks and locks messages. */
  pick<Result extends { rows: unknown[] }>(statement: () => Promise<Result>): Promise<Result> {
    return this.picks === null ? statement() : timed(statement, this.picks);
  }

  finished(messages: number): void {
    this.dequeued += messages;
  }

  get depth(): number {
    return this.enqueued - this.dequeued;
  }
}

async function timed<Result extends { rows: unknown[] }>(
  statement: () => Promise<Result>,
  times: Pick<Latencies, "record">,
): Promise<Result> {
  const startMs = performance.now();
  const result = await statement();
  if (result.rows.length > 0) times.record(performance.now() - startMs);
  return result;
}
