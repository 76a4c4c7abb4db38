import { Latencies } from "../measure/histogram.ts";
import { firstIntervalMs, type FeedbackInterval } from "./feedback-interval.ts";
import type { Look } from "./held.ts";

/** What was seen, from another session, of a horizon that moves on. */
export interface AdvancingProof {
  /** How often it had moved on since the look before. */
  moves: number;
  /** How long before the look its horizon was the oldest open transaction. */
  ageMsP50: number;
  ageMsMax: number;
  /** At most, in transactions. */
  xminAgeMax: number;
}

/** What a report takes to arrive, and a busy machine to send it. */
const slackMs = 50;

/** How old the horizon of a slot is whenever it is looked at: its xmin says which report it is from. */
export class FeedbackAges {
  readonly #interval: FeedbackInterval;
  /** When each xmin was last the oldest open one, the earliest first; those before the one seen last are forgotten. */
  readonly #reported = new Map<string, number>();
  readonly #agesMs = new Latencies();
  #longestMs: number;
  #taken: Look | null = null;
  #moves = 0;
  #xminAgeMax = 0;
  /** Why it did not hold all the time. */
  #failure: Error | null = null;

  constructor(interval: FeedbackInterval) {
    this.#interval = interval;
    this.#longestMs = firstIntervalMs(interval);
  }

  /** @param xmin what was the oldest open transaction at the time */
  reported(xmin: bigint, atMs: number): void {
    this.#reported.set(String(BigInt.asUintN(32, xmin)), atMs);
  }

  /** The interval that begins. */
  waiting(intervalMs: number): void {
    this.#longestMs = Math.max(this.#longestMs, intervalMs);
  }

  /** @param look what another session sees of the slot; undefined when there is nothing to see */
  seen(look: Look | undefined, atMs: number): void {
    const before = this.#taken;
    if (!look?.xmin) throw new Error("the slot is gone, or holds nothing");
    if (before !== null && look.identity !== before.identity) throw new Error("the slot was let go and taken anew");
    const reportedMs = this.#reported.get(look.xmin);
    if (reportedMs === undefined) throw new Error(`the slot has xmin ${look.xmin}, which was not reported`);
    for (const earlier of this.#reported.keys()) {
      if (earlier === look.xmin) break;
      this.#reported.delete(earlier);
    }
    if (before !== null && look.xmin !== before.xmin) this.#moves += 1;
    this.#taken = look;
    this.#agesMs.record(atMs - reportedMs);
    this.#xminAgeMax = Math.max(this.#xminAgeMax, look.age ?? 0);
  }

  failed(error: unknown): void {
    this.#failure ??= new Error(
      `the horizon did not move on as it should: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }

  /** Throws when it did not move, or was younger or older than its interval makes it. */
  prove(): AdvancingProof {
    if (this.#failure !== null) throw this.#failure;
    const ages = this.#agesMs.summary();
    if (ages === null || this.#moves === 0) throw new Error("the horizon never moved on while it was looked at");
    const p50Max = this.#longestMs + slackMs;
    if (ages.p50 > p50Max)
      throw new Error(
        `expected the horizon to be at most ${p50Max} ms old half of the time, found ${ages.p50.toFixed(0)} ms: too little CPU left for the holder`,
      );
    const maxMin = firstIntervalMs(this.#interval) / 2;
    if (ages.max < maxMin)
      throw new Error(
        `expected the horizon to be ${maxMin} ms old at some time, found ${ages.max.toFixed(0)} ms at most`,
      );
    return { moves: this.#moves, ageMsP50: ages.p50, ageMsMax: ages.max, xminAgeMax: this.#xminAgeMax };
  }
}
