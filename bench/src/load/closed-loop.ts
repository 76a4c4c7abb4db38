import { setTimeout as sleep } from "node:timers/promises";
import type { Drive, Load } from "./load.ts";
import { payloadDueAt } from "./payload.ts";
import { saturate, timesOf, type Caller } from "./saturate.ts";

/**
 * Saturated: every producer sends again as soon as its last send has returned, every consumer receives again as soon as
 * its last batch is finished. Each of them is one tinybench task.
 */
export const closedLoop: Drive = async (load, seconds, signal) => {
  const pulled = load.consumers.kind === "pulled" ? load.consumers.receive : [];
  const callers: Caller[] = [
    ...load.send.map((send, index) => ({ name: `send ${index + 1}`, call: () => sendOnce(load, send) })),
    ...pulled.map((receive, index) => ({
      name: `receive ${index + 1}`,
      call: () => receiveOnce(load, receive, signal),
    })),
  ];
  const tasks = await saturate(callers, seconds, signal);
  return { send: timesOf(tasks, "send"), receiveAndFinish: timesOf(tasks, "receive") };
};

async function sendOnce(load: Load, send: Load["send"][number]): Promise<void> {
  const dueMs = performance.now();
  const payloads = Array.from({ length: load.sendBatch }, () => payloadDueAt(dueMs, load.payloadBytes));
  await send(payloads);
  load.tally.sent(payloads.length, dueMs);
}

/** An idle wait is no part of the call's time, but is of the task's. */
export async function receiveOnce(
  load: Pick<Load, "idlePollMs">,
  receive: () => Promise<number>,
  signal: AbortSignal,
): Promise<{ overriddenDuration: number; overriddenIterationCost: number }> {
  const startMs = performance.now();
  const messages = await receive();
  const overriddenDuration = performance.now() - startMs;
  if (messages === 0) await sleep(load.idlePollMs, undefined, { signal }).catch(() => undefined);
  return { overriddenDuration, overriddenIterationCost: performance.now() - startMs };
}
