import type { Latencies } from "../measure/histogram.ts";
import type { Consumers, Send, Receive } from "../adapters/adapter.ts";
import type { Tally } from "./tally.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { paced } from "../measure/pace.ts";
import { payloadDueAt } from "./messages.ts";
import { saturate, timesOf, type CallTimes, type Caller } from "./saturate.ts";

/** Everything that sends and receives in one trial. */
export interface Load {
  send: Send[];
  consumers: Consumers;
  tally: Tally;
  payloadBytes: number;
  /** Messages in one send. */
  sendBatch: number;
  idlePollMs: number;
  /** How late the harness itself was. */
  lateness: Latencies;
}

export interface DriveResult {
  send: CallTimes | null;
  receiveAndFinish: CallTimes | null;
}

/** Runs a load for so many seconds, whose consumers are started if they run themselves. Returns when what it called itself has returned. */
export type Drive = (load: Load, seconds: number, signal: AbortSignal) => Promise<DriveResult>;

/** Consumers that run themselves are started before `work` and stopped after it; the others are left to `work`. */
export async function withPushed<T>(consumers: Consumers, work: () => Promise<T>): Promise<T> {
  if (consumers.kind === "pulled") return work();
  await consumers.start();
  try {
    return await work();
  } finally {
    await consumers.stop();
  }
}

/** Receives until told to stop. After an empty receive it waits; after any other it asks again at once. */
export async function consume(
  receive: Receive,
  idlePollMs: number,
  done: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  while (!done() && !signal.aborted) {
    const messages = await receive();
    if (messages === 0) await sleep(idlePollMs, undefined, { signal });
  }
}

/**
 * Consumers alone, until everything sent is finished but for so many. Returns the seconds it took, null if it took longer than
 * allowed.
 */
export async function drain(load: Load, secondsMax: number, signal: AbortSignal, left = 0): Promise<number | null> {
  const startMs = performance.now();
  const endMs = startMs + secondsMax * 1000;
  const done = (): boolean => load.tally.depth <= left || performance.now() >= endMs;
  if (load.tally.depth <= left) return 0;
  await withPushed(load.consumers, async () => {
    if (load.consumers.kind === "pushed") {
      while (!done()) await sleep(load.idlePollMs, undefined, { signal });
      return;
    }
    await Promise.all(load.consumers.receive.map((receive) => consume(receive, load.idlePollMs, done, signal)));
  });
  signal.throwIfAborted();
  return load.tally.depth <= left ? (performance.now() - startMs) / 1000 : null;
}

/** Sends so many messages a second, whatever becomes of them; consumers take what they can. */
export function openLoop(messagesPerSecond: number): Drive {
  return async (load, seconds, signal) => {
    const endMs = performance.now() + seconds * 1000;
    const produced = load.send.map((_, index) => produce(load, index, messagesPerSecond, endMs, signal));
    const pulled = load.consumers.kind === "pulled" ? load.consumers.receive : [];
    const ended = (): boolean => performance.now() >= endMs;
    const consumed = pulled.map((receive) => consume(receive, load.idlePollMs, ended, signal));
    await Promise.all([...produced, ...consumed, sleep(seconds * 1000, undefined, { signal })]);
    return { send: null, receiveAndFinish: null };
  };
}

/** The producers take turns, so that the sends of all together are evenly spaced. */
function produce(load: Load, index: number, rate: number, endMs: number, signal: AbortSignal): Promise<void> {
  const turnMs = (load.sendBatch * 1000) / rate;
  const schedule = { startMs: performance.now() + index * turnMs, everyMs: turnMs * load.send.length, endMs };
  return paced(
    schedule,
    async (dueMs) => {
      // What is still due when time is up stays unsent: it shows as a lower rate, not as a longer run.
      if (performance.now() >= endMs) return load.tally.notSent(load.sendBatch, dueMs);
      const payloads = Array.from({ length: load.sendBatch }, () => payloadDueAt(dueMs, load.payloadBytes));
      await load.send[index]?.(payloads);
      load.tally.sent(payloads.length, dueMs);
    },
    load.lateness,
    signal,
  );
}

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
