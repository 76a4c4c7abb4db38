import type { Message } from "@pgque/client";
import type { OpenBatch } from "./open-batch.ts";

/** Messages that stand side by side in a batch. */
export interface Stretch {
  readonly batch: OpenBatch;
  readonly messages: readonly Message[];
  /** Of the first of them in the batch, from 0. */
  readonly place: number;
}

/** Messages that are handled together, or one after the other. */
export interface Work extends Stretch {
  /** Of their payloads. */
  readonly bytes: number;
}

interface Entry extends Work {
  /** Of each payload. */
  readonly payloadBytes: readonly number[];
}

/** What was received and is not begun, in order. A batch is one entry also when its messages are taken one by one. */
export class Waiting {
  readonly #isSingly: boolean;
  #batches: Entry[] = [];
  /** How many of the first batch were taken. */
  #taken = 0;

  constructor(isSingly: boolean) {
    this.#isSingly = isSingly;
  }

  /** Batches of which something waits. */
  get batches(): number {
    return this.#batches.length;
  }

  add(work: Work, payloadBytes: readonly number[]): void {
    if (work.messages.length > 0) this.#batches.push({ ...work, payloadBytes });
  }

  /** One message, or all of a batch; undefined: nothing waits. */
  take(): Work | undefined {
    const [first] = this.#batches;
    if (first === undefined || !this.#isSingly) return this.#batches.shift();
    const { batch, messages, payloadBytes } = first;
    const place = this.#taken;
    const work = { batch, messages: messages.slice(place, place + 1), place, bytes: payloadBytes[place] ?? 0 };
    this.#taken += 1;
    if (this.#taken === messages.length) {
      this.#batches.shift();
      this.#taken = 0;
    }
    return work;
  }

  /** What waits of each batch. Nothing does then. */
  takeAll(): Work[] {
    const [[first, ...others], taken] = [this.#batches, this.#taken];
    this.#batches = [];
    this.#taken = 0;
    return first === undefined ? [] : [behind(first, taken), ...others];
  }
}

/** Of a batch all but those that were taken. */
function behind({ batch, messages, payloadBytes }: Entry, taken: number): Work {
  const bytes = payloadBytes.slice(taken).reduce((sum, of) => sum + of, 0);
  return { batch, messages: messages.slice(taken), place: taken, bytes };
}
