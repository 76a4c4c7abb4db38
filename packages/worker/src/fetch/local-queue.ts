import type { Message } from "@pgque/client";
import type { OpenBatch } from "../settle/open-batch.ts";
import type { Route } from "../execute/route.ts";
import { isSuspect } from "../execute/suspect.ts";

/** Messages that stand side by side in a batch. */
export interface Stretch {
  readonly batch: OpenBatch;
  readonly messages: readonly Message[];
  /** Of the first of them in the batch, from 0. */
  readonly index: number;
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
export class LocalQueue {
  readonly #unit: Route["unit"];
  #batches: Entry[] = [];
  /** How many of the first batch were taken. */
  #taken = 0;

  constructor(unit: Route["unit"]) {
    this.#unit = unit;
  }

  /** Batches of which something waits. */
  get batches(): number {
    return this.#batches.length;
  }

  add(work: Work, payloadBytes: readonly number[]): void {
    if (work.messages.length === 0) return;
    // a handler of batches is called with each suspect alone
    const isCut = this.#unit === "batch" && work.messages.some(isSuspect);
    for (const entry of isCut ? apart({ ...work, payloadBytes }) : [{ ...work, payloadBytes }])
      this.#batches.push(entry);
  }

  /** One message, or all of a batch; undefined: nothing waits. */
  take(): Work | undefined {
    const [first] = this.#batches;
    if (first === undefined || this.#unit !== "message") return this.#batches.shift();
    const { batch, messages, payloadBytes } = first;
    const index = this.#taken;
    const work = { batch, messages: messages.slice(index, index + 1), index, bytes: payloadBytes[index] ?? 0 };
    this.#taken += 1;
    if (this.#taken === messages.length) {
      this.#batches.shift();
      this.#taken = 0;
    }
    return work;
  }

  /** The messages that wait. */
  waiting(): Message[] {
    return this.#batches.flatMap(({ messages }, i) => (i === 0 ? messages.slice(this.#taken) : messages));
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
  return { batch, messages: messages.slice(taken), index: taken, bytes };
}

/** Cut before and behind each suspect. */
function apart({ batch, messages, payloadBytes }: Entry): Entry[] {
  const cuts = messages.flatMap((message, i) => (isSuspect(message) ? [i, i + 1] : []));
  const places = [...new Set([0, ...cuts, messages.length])].toSorted((one, other) => one - other);
  return places.slice(0, -1).map((index, i) => {
    const bytesOfEach = payloadBytes.slice(index, places[i + 1]);
    const bytes = bytesOfEach.reduce((sum, of) => sum + of, 0);
    return { batch, messages: messages.slice(index, places[i + 1]), index, bytes, payloadBytes: bytesOfEach };
  });
}
