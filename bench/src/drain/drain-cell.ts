import { setTimeout as sleep } from "node:timers/promises";
import { walPosition } from "../measure/wal-position.ts";
import { growthOf } from "../measure/growth.ts";
import { CpuUse } from "../measure/cpu-use.ts";
import { drainSystems, named } from "../adapters/registry.ts";
import { handledWrongly } from "../load/numbered.ts";
import type { Store } from "../adapters/adapter.ts";
import type { Server } from "../server.ts";
import type { DrainSettings } from "./drain-settings.ts";
import type { DrainFigures, DrainPlan } from "./drain-results.ts";
import { Fleet } from "./fleet.ts";
import { Feed } from "./feed.ts";

/** Between two looks whether the last message is settled. */
const lookMs = 5;

/** Nothing is handled, or settled, for so long: it never will be. */
const patienceMs = 60_000;

/** Drains a queue made for it, which it removes. Throws when not every message was handled once and settled. */
export async function measureDrain(
  server: Server,
  { system, processes }: DrainPlan,
  settings: DrainSettings,
  stage: (text: string) => void,
  signal: AbortSignal,
): Promise<DrainFigures> {
  const { messages, ahead, memory } = settings;
  const store = await named(drainSystems, system).makeStore({ ...settings, server });
  const fleet = new Fleet(processes, memory, patienceMs);
  try {
    const feed = new Feed(store, messages, ahead);
    stage("send");
    await feed.fill(0, signal);
    await store.settleDown?.();
    await fleet.open({ system, url: store.url, messages }, signal);
    stage("drain");
    return await drain(store, fleet, feed, settings, signal);
  } finally {
    await fleet.close();
    await store.close();
  }
}

async function drain(
  store: Store,
  fleet: Fleet,
  feed: Feed,
  { messages, memory }: DrainSettings,
  signal: AbortSignal,
): Promise<DrainFigures> {
  const walBefore = store.admin === null ? null : await walPosition(store.admin);
  const cpu = await CpuUse.start(store.cpu);
  const startMs = performance.now();
  await fleet.start();
  const fed = feed.keepAhead(fleet, signal);
  const sampled = memory ? fleet.sampleMemory() : null;
  await Promise.all([fed, fleet.handled(messages, signal)]);
  await settled(store, signal);
  const seconds = (performance.now() - startMs) / 1000;
  const used = await cpu.used();
  const uses = await fleet.use();
  const walBytes = store.admin === null || walBefore === null ? null : (await walPosition(store.admin)) - walBefore;
  const samples = await sampled?.end();
  const wrong = handledWrongly(messages, await fleet.stop());
  if (wrong !== null) throw new Error(wrong);
  const clientSeconds = uses.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const perThousand = (value: number): number => (value / messages) * 1000;
  return {
    messagesPerSecond: messages / seconds,
    seconds,
    serverCpuSecondsPerThousand: used.serverCpuSeconds === null ? null : perThousand(used.serverCpuSeconds),
    clientCpuSecondsPerThousand: perThousand(clientSeconds),
    otherCpuSeconds: used.otherCpuSeconds === null ? null : Math.max(0, used.otherCpuSeconds - clientSeconds),
    rssBytesMax: Math.max(...uses.map(({ rssBytesMax }) => rssBytesMax)),
    walBytesPerMessage: walBytes === null ? null : walBytes / messages,
    growth: samples === undefined ? null : growthOf(samples),
  };
}

/** What is handled is not yet known to be: the time ends when it is. */
async function settled(store: Store, signal: AbortSignal): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let sinceMs = performance.now();
  for (;;) {
    const left = await store.unsettled();
    if (left === 0) return;
    if (left < least) [least, sinceMs] = [left, performance.now()];
    if (performance.now() - sinceMs > patienceMs)
      throw new Error(`expected every message to be settled, ${left} are not`);
    await sleep(lookMs, undefined, { signal });
  }
}
