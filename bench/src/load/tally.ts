import { Latencies } from "../measure/histogram.ts";

/**
 * What was sent and what was finished, counted here and not in the database: a counter row would bloat by itself and
 * measure nothing but that.
 */
export class Tally {
  enqueued = 0;
  /** Finished messages only; an empty receive counts nothing. */
  dequeued = 0;
  /** From the time a message was meant to be sent until a consumer had it in hand. */
  latency = new Latencies();

  sent(messages: number): void {
    this.enqueued += messages;
  }

  received(dueMs: number): void {
    this.latency.record(performance.now() - dueMs);
  }

  finished(messages: number): void {
    this.dequeued += messages;
  }

  get depth(): number {
    return this.enqueued - this.dequeued;
  }
}
