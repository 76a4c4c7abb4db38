import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { FeedbackAges, type AdvancingProof } from "./feedback-ages.ts";
import { firstIntervalMs, nextIntervalMs, type FeedbackInterval } from "./feedback-interval.ts";
import type { HorizonContext } from "./horizon.ts";
import { lookAtSlot } from "./slots.ts";
import { joinStandby, needsStandby, oldestOpen } from "./standby-feedback.ts";
import type { Standby } from "./standby.ts";
import { until } from "./until.ts";

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
  try {
    const ages = new FeedbackAges(interval);
    const first = await capture(client, ages);
    const standby = await joinStandby(url, first, { takesWal: false });
    const look = lookAtSlot(admin, standby.slotName, "xmin");
    const gone = (): Promise<void> =>
      until(async () => !(await look())?.xmin, `the slot ${standby.slotName} still holds though it was let go`);
    try {
      await until(async () => Boolean((await look())?.xmin), "the server took no notice of the standby's feedback");
    } catch (error) {
      await standby.leave();
      throw error;
    }
    const stop = new AbortController();
    const failed = (error: unknown): void => {
      if (!stop.signal.aborted) ages.failed(error);
    };
    const advancing = advance(client, standby, { interval, first, ages }, stop.signal).catch(failed);
    const watching = watch(look, { interval, ages }, stop.signal).catch(failed);
    return {
      prove: () => ages.prove(),
      async release() {
        stop.abort();
        await Promise.all([advancing, watching]);
        await standby.leave();
        await client.end();
        await gone();
      },
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** The time before the question: the horizon is at least as old as that. */
async function capture(client: pg.Client, ages: FeedbackAges): Promise<bigint> {
  const atMs = performance.now();
  const xmin = await oldestOpen(client);
  ages.reported(xmin, atMs);
  return xmin;
}

async function advance(
  client: pg.Client,
  standby: Standby,
  { interval, first, ages }: { interval: FeedbackInterval; first: bigint; ages: FeedbackAges },
  signal: AbortSignal,
): Promise<void> {
  let last = first;
  let intervalMs = firstIntervalMs(interval);
  for (let dueMs = performance.now() + intervalMs; ; dueMs = Math.max(dueMs + intervalMs, performance.now())) {
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal });
    const xmin = await capture(client, ages);
    standby.moveTo(xmin);
    intervalMs = nextIntervalMs(interval, intervalMs, xmin === last);
    ages.waiting(intervalMs);
    last = xmin;
  }
}

async function watch(
  look: ReturnType<typeof lookAtSlot>,
  { interval, ages }: { interval: FeedbackInterval; ages: FeedbackAges },
  signal: AbortSignal,
): Promise<void> {
  const everyMs = Math.min(lookMs.max, Math.max(lookMs.min, firstIntervalMs(interval) / looksPerInterval));
  for (;;) {
    ages.seen(await look(), performance.now());
    // by chance, so as not to fall into step with what is looked at
    await sleep(everyMs * (0.5 + Math.random()), undefined, { signal });
  }
}
