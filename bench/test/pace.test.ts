import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Latencies } from "#src/measure/histogram";
import { paced } from "#src/measure/pace";

const never = new AbortController().signal;

test("a stall delays calls but neither drops them nor moves their due times, and shows in the latency", async () => {
  const startMs = performance.now();
  const due: number[] = [];
  const latency = new Latencies();
  const call = async (dueMs: number): Promise<void> => {
    due.push(dueMs - startMs);
    if (due.length === 20) await sleep(200);
    latency.record(performance.now() - dueMs);
  };
  await paced({ startMs, everyMs: 5, endMs: startMs + 500 }, call, new Latencies(), never);

  expect(due).toHaveLength(100);
  expect(due.every((dueMs, n) => Math.abs(dueMs - n * 5) < 0.001)).toBe(true);
  // Everything that was due during the stall waited for its end: 40 of 100 calls, half of them 100 ms or more.
  expect(latency.summary()?.p50).toBeLessThan(50);
  expect(latency.summary()?.p95).toBeGreaterThan(100);
});

test("what a call takes makes the next one late, and not this process", async () => {
  const startMs = performance.now();
  let slowEndedMs = 0;
  const delays: number[] = [];
  const lateness = { record: (ms: number): void => void delays.push(ms) };
  const began: number[] = [];
  const call = async (): Promise<void> => {
    began.push(performance.now());
    if (began.length !== 5) return;
    await sleep(200);
    slowEndedMs = performance.now();
  };
  await paced({ startMs, everyMs: 5, endMs: startMs + 100 }, call, lateness, never);
  expect(delays).toHaveLength(20);
  expect(delays[5]).toBeLessThanOrEqual((began[5] ?? 0) - slowEndedMs);
});

test("no call comes before its time", async () => {
  const startMs = performance.now();
  let early = 0;
  const call = async (dueMs: number): Promise<void> => {
    if (performance.now() < dueMs) early += 1;
  };
  await paced({ startMs, everyMs: 3.3, endMs: startMs + 200 }, call, new Latencies(), never);
  expect(early).toBe(0);
});

test("it stops when told to", async () => {
  const stop = new AbortController();
  let calls = 0;
  const call = async (): Promise<void> => {
    calls += 1;
    if (calls === 3) stop.abort();
  };
  const running = paced(
    { startMs: performance.now(), everyMs: 1, endMs: Infinity },
    call,
    new Latencies(),
    stop.signal,
  );
  await expect(running).rejects.toThrow("aborted");
  expect(calls).toBe(3);
});
