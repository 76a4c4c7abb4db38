import { setTimeout as sleep } from "node:timers/promises";
import { Bench, type Task } from "tinybench";
import { withPushed, type CallTimes, type Drive, type Load } from "./load.ts";
import { payloadDueAt } from "./payload.ts";

/**
 * Saturated: every producer sends again as soon as its last send has returned, every consumer receives again as soon as
 * its last batch is finished. Each of them is one tinybench task.
 */
export const closedLoop: Drive = (load, seconds, signal) =>
  withPushed(load.consumers, async () => {
    const bench = new Bench({
      concurrency: "bench",
      time: seconds * 1000,
      iterations: 1,
      warmup: false,
      throws: true,
      signal,
    });
    for (const [index, send] of load.send.entries())
      bench.add(`send ${index + 1}`, () => sendOnce(load, send), { async: true });
    const pulled = load.consumers.kind === "pulled" ? load.consumers.receive : [];
    for (const [index, receive] of pulled.entries()) {
      bench.add(`receive ${index + 1}`, () => receiveOnce(load, receive, signal), { async: true });
    }
    const tasks = await bench.run();
    signal.throwIfAborted();
    return { send: timesOf(tasks, "send"), receiveAndFinish: timesOf(tasks, "receive") };
  });

async function sendOnce(load: Load, send: Load["send"][number]): Promise<void> {
  const dueMs = performance.now();
  const payloads = Array.from({ length: load.sendBatch }, () => payloadDueAt(dueMs, load.payloadBytes));
  await send(payloads);
  load.tally.sent(payloads.length);
}

/** An idle wait is no part of the call's time, but is of the task's. */
async function receiveOnce(
  load: Load,
  receive: () => Promise<number>,
  signal: AbortSignal,
): Promise<{ overriddenDuration: number; overriddenIterationCost: number }> {
  const startMs = performance.now();
  const messages = await receive();
  const overriddenDuration = performance.now() - startMs;
  if (messages === 0) await sleep(load.idlePollMs, undefined, { signal }).catch(() => undefined);
  return { overriddenDuration, overriddenIterationCost: performance.now() - startMs };
}

/** All tasks of a kind together: the mean of their percentiles, since they share one load. */
function timesOf(tasks: Task[], kind: string): CallTimes | null {
  const results = tasks.filter(({ name }) => name.startsWith(kind)).map(({ result, runs }) => ({ result, runs }));
  const measured = results.flatMap(({ result, runs }) =>
    result.state === "completed" ? [{ runs, latency: result.latency }] : [],
  );
  if (measured.length === 0) return null;
  const mean = (pick: (latency: (typeof measured)[number]["latency"]) => number): number =>
    measured.reduce((sum, { latency }) => sum + pick(latency), 0) / measured.length;
  return {
    calls: measured.reduce((sum, { runs }) => sum + runs, 0),
    meanMs: mean(({ mean }) => mean),
    p50Ms: mean(({ p50 }) => p50),
    p99Ms: mean(({ p99 }) => p99),
  };
}
