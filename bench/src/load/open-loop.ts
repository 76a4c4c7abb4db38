import { setTimeout as sleep } from "node:timers/promises";
import { paced } from "../measure/pace.ts";
import { consume } from "./consume.ts";
import type { Drive, Load } from "./load.ts";
import { payloadDueAt } from "./payload.ts";

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
