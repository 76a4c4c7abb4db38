import { Latencies } from "../measure/histogram.ts";

/** One that looks closer at what is sent and received. */
export interface MessageWatch {
  sent(messages: number, dueMs: number): void;
  received(dueMs: number): void;
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
  /** The same since it was last taken: every sample takes it. */
  readonly recent = new Latencies();
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
    this.recent.record(latencyMs);
    this.watch?.received(dueMs);
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

/**
 * A ledger of messages in constant memory: how many, and a sum over all of what tells them apart, their due times. Two sums that are equal
 * belong to the same messages; one that was lost and another that came twice make them differ, where counts alone would agree.
 */
export class DeliveryLedger implements MessageWatch {
  #sent = { messages: 0, sum: 0 };
  #received = { messages: 0, sum: 0 };

  sent(messages: number, dueMs: number): void {
    this.#sent.messages += messages;
    this.#sent.sum = (this.#sent.sum + Math.imul(messages, fingerprint(dueMs))) | 0;
  }

  received(dueMs: number): void {
    this.#received.messages += 1;
    this.#received.sum = (this.#received.sum + fingerprint(dueMs)) | 0;
  }

  /** What is wrong while some may still be waiting: null unless more came than were sent. */
  surplus(): string | null {
    const [sent, received] = [this.#sent.messages, this.#received.messages];
    return received > sent ? `${sent} messages were sent, but ${received} received: some came twice` : null;
  }

  /** What is wrong when nothing is under way any more; null when each message that was sent has come once. */
  mismatch(): string | null {
    const [sent, received] = [this.#sent.messages, this.#received.messages];
    if (received < sent) return `${sent - received} of ${sent} messages were lost`;
    if (received > sent) return this.surplus();
    return this.#sent.sum === this.#received.sum
      ? null
      : `of ${sent} messages some were lost, and as many others came twice`;
  }
}

/** Of a due time as a payload has it, to the microsecond: spread, so that sums of different messages are not equal for being evenly spaced. */
function fingerprint(dueMs: number): number {
  const micros = Math.round(Number.parseFloat(dueMs.toFixed(3)) * 1000);
  const folded = (micros % 2 ** 32) ^ Math.floor(micros / 2 ** 32);
  // the finalizer of MurmurHash3
  const once = Math.imul(folded ^ (folded >>> 16), 0x85_eb_ca_6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2_b2_ae_35);
  return twice ^ (twice >>> 16);
}
