import { receiveOnce } from "../load/closed-loop.ts";
import { randomPayloads } from "../load/payload.ts";
import { saturate, type Caller } from "../load/saturate.ts";
import type { Receive } from "../adapters/adapter.ts";
import type { Site, Work } from "./throughput-cell.ts";

/** A backlog, and consumers that receive and finish one batch after the other until it is gone. Nobody sends any more. */
export async function receiving(site: Site): Promise<Work> {
  const { running, plan, tally, settings, admin, signal } = site;
  if (running.consumers.kind !== "pulled") throw new Error(`expected consumers that are pulled, got: ${plan.system}`);
  // one call of each consumer warms it up
  await preload(site, (plan.backlog ?? 0) + plan.perCall * running.consumers.receive.length);
  await admin.query("vacuum analyze");
  const empty = new AbortController();
  const callers = running.consumers.receive.map((receive, index): Caller => ({
    name: `receive ${index + 1}`,
    async call() {
      const took = await receiveOnce(settings, receive, signal);
      if (tally.depth <= 0) empty.abort();
      return took;
    },
  }));
  for (const receive of running.consumers.receive) await firstBatch(site, receive);
  return {
    run: (until) => saturate(callers, settings.seconds, until, empty.signal),
    messages: () => tally.dequeued,
    async check() {
      const { dequeued, enqueued } = tally;
      if (dequeued > enqueued) throw new Error(`invalid: ${dequeued} messages finished, but only ${enqueued} sent`);
    },
  };
}

/** Sent in batches as they are to be received, each followed by maintenance: a system that batches by time makes one of each. */
async function preload({ running, plan, tally, signal }: Site, messages: number): Promise<void> {
  const payloads = randomPayloads(plan.perCall, plan.payloadBytes);
  while (tally.enqueued < messages) {
    signal.throwIfAborted();
    await running.send[0]?.(payloads);
    tally.sent(payloads.length);
    await running.maintain?.();
  }
}

/** A system whose batches come with time may have none yet. */
async function firstBatch({ settings, running, tally, signal }: Site, receive: Receive): Promise<void> {
  const endMs = performance.now() + settings.seconds * 1000;
  const before = tally.dequeued;
  while (tally.dequeued === before && performance.now() < endMs) {
    signal.throwIfAborted();
    await receiveOnce(settings, receive, signal);
    await running.maintain?.();
  }
}
