import { setTimeout as sleep } from "node:timers/promises";
import type { HorizonContext } from "./horizon.ts";
import { lookAtSlot } from "./cluster.ts";
import { joinStandby, needsStandby, oldestOpen, type Standby } from "./standby-feedback.ts";
import { holderOf, type Look } from "./held.ts";
import { Latencies } from "../measure/histogram.ts";

/** So many looks an interval, between these bounds. */
const looksPerInterval = 20;
const lookMs = { min: 50, max: 1000 };

/** A slot whose horizon moves on. */
export interface AdvancingHolder {
  /** What another session saw of it since it began; throws when it did not hold, or not for as long as the interval says. */
  prove(): AdvancingProof;
  /** Lets go, and returns once another session sees that nothing is left of it. Also after `prove` has thrown. */
  release(): Promise<void>;
}

/**
 * Holds the horizon by hot standby feedback that moves on to the oldest open transaction each time an interval is over. WAL is sent to nobody: what a
 * stream costs is not what is compared.
 *
 * @throws NotRun when the server takes no standby
 */
export async function holdAdvancing(
  { url, admin, connect }: Pick<HorizonContext, "url" | "admin" | "connect">,
  interval: FeedbackInterval,
): Promise<AdvancingHolder> {
  await needsStandby(admin);
  const client = await connect("holder");
  const stop = new AbortController();
  const { signal } = stop;
  const ages = new FeedbackAges(interval);
  /** The time is that before the question: the horizon is at least as old as that. */
  const capture = async (): Promise<bigint> => {
    const atMs = performance.now();
    const xmin = await oldestOpen(client);
    ages.reported(xmin, atMs);
    return xmin;
  };
  const advance = async (standby: Standby, first: bigint): Promise<void> => {
    let [last, intervalMs] = [first, firstIntervalMs(interval)];
    for (let dueMs = performance.now() + intervalMs; ; dueMs = Math.max(dueMs + intervalMs, performance.now())) {
      await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal });
      const xmin = await capture();
      standby.moveTo(xmin);
      intervalMs = nextIntervalMs(interval, intervalMs, xmin === last);
      ages.waiting(intervalMs);
      last = xmin;
    }
  };
  const watch = async (look: ReturnType<typeof lookAtSlot>): Promise<void> => {
    const everyMs = Math.min(lookMs.max, Math.max(lookMs.min, firstIntervalMs(interval) / looksPerInterval));
    for (;;) {
      ages.seen(await look(), performance.now());
      // by chance, so as not to fall into step with what is looked at
      await sleep(everyMs * (0.5 + Math.random()), undefined, { signal });
    }
  };
  try {
    const first = await capture();
    const standby = await joinStandby(url, first, { takesWal: false });
    const look = lookAtSlot(admin, standby.slotName, "xmin");
    const { release } = await holderOf({
      who: `the slot ${standby.slotName}`,
      look,
      letGo: standby.leave,
      otherwise: "the server took no notice of the standby's feedback",
    });
    const failed = (error: unknown): void => {
      if (!signal.aborted) ages.failed(error);
    };
    const running = [advance(standby, first).catch(failed), watch(look).catch(failed)];
    return {
      prove: () => ages.prove(),
      async release() {
        stop.abort();
        await Promise.all(running);
        await release();
        await client.end();
      },
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

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

/** How long after a report the next one comes, in milliseconds; `dynamic` is longer while nothing happens. */
export type FeedbackInterval = number | "dynamic";

/** Between these, `dynamic` doubles. */
export const dynamicMs = { min: 100, max: 180_000 };

export const firstIntervalMs = (interval: FeedbackInterval): number =>
  interval === "dynamic" ? dynamicMs.min : interval;

/**
 * @param lastMs the interval that is over
 * @param idle no transaction id was assigned in it: there is nothing newer to move on to
 */
export function nextIntervalMs(interval: FeedbackInterval, lastMs: number, idle: boolean): number {
  if (interval !== "dynamic") return interval;
  return idle ? Math.min(dynamicMs.max, lastMs * 2) : dynamicMs.min;
}
