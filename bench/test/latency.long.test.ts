import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runLatency, latencyPlan, resolveLatencySettings } from "#src/scenarios/latency/latency";
import { Round } from "#src/scenarios/latency/round";
import { Latencies } from "#src/measure/histogram";
import { Ticker, nowMs } from "#src/measure/ticker";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test latency "));
});
afterAll(() => rm(folder, { recursive: true }));

test(
  "messages of every system and control arrive once, and their latencies are from when they were due",
  { timeout: 240_000 },
  async () => {
    const systems = ["pgque", "graphile-worker", "notify", "insert-notify"];
    const { results } = await runLatency({
      quick: true,
      durationSeconds: 1,
      rates: [50],
      handlerMs: 1,
      systems,
      resultsFolder: folder,
    });

    expect(results.trials.map(({ system, error, skipped }) => ({ system, error, skipped }))).toEqual(
      systems.map((system) => ({ system, error: null, skipped: null })),
    );
    for (const { figures } of results.trials) {
      expect(figures?.messages).toBe(50);
      expect(figures?.latencyMs?.p50).toBeGreaterThan(figures?.latenessMs?.p50 ?? Infinity);
    }
    const report = await readFile(path.join(folder, "report.md"), "utf8");
    expect(report).toContain("50/s, p50, pgque / graphile-worker");
  },
);

test("at each rate the systems are measured together, and who comes first changes from repeat to repeat", () => {
  const plan = latencyPlan(resolveLatencySettings({ rates: [1, 100], repeat: 2, systems: ["pgque", "select"] }));
  expect(
    plan.map((trials) =>
      trials.map(({ repeat, messagesPerSecond, system }) => `${repeat} ${messagesPerSecond} ${system}`),
    ),
  ).toEqual([
    ["1 1 pgque", "1 1 select"],
    ["1 100 pgque", "1 100 select"],
    ["2 1 select", "2 1 pgque"],
    ["2 100 select", "2 100 pgque"],
  ]);
});

test("a stalled system shows in the latency of every message that was due meanwhile", async () => {
  const [latencies, lateness] = [new Latencies(), new Latencies()];
  const ticker = new Ticker();
  const round = new Round({ messages: 20, messagesPerSecond: 1000, handlerMs: 0 }, { latencies, lateness });
  let dueFirst = 0;
  const all = Promise.withResolvers<void>();
  const sent: { n: number; due?: number }[] = [];
  const run = round.run(ticker, async (message) => {
    sent.push(message);
    if (message.n === 0) dueFirst = message.due ?? 0;
    if (sent.length < 20) return all.promise;
    // what was held up arrives at once, a second after the first was due
    for (const held of sent) round.handle(held, dueFirst + 1000);
    return all.resolve();
  });
  await run;
  await ticker.stop();
  const summary = latencies.summary();
  expect(summary?.max).toBeCloseTo(1000, -1);
  expect(summary?.p50).toBeCloseTo(990, -1);
});

test("a message that arrives twice ends the round with an error", async () => {
  const ticker = new Ticker();
  const round = new Round({ messages: 1, messagesPerSecond: 1000, handlerMs: 0 }, null);
  const run = round.run(ticker, async (message) => {
    for (let n = 0; n < 2; n++) round.handle(message, nowMs());
  });
  await expect(run).rejects.toThrow("expected every message to arrive once, 1 came again");
  await ticker.stop();
});
