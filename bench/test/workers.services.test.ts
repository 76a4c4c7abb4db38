import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runDrain } from "#src/scenarios/drain/drain";
import { runLatency } from "#src/scenarios/latency/latency";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test workers "));
});
afterAll(() => rm(folder, { recursive: true }));

test("processes of BullMQ drain a queue on a Redis of its own", async () => {
  const { results } = await runDrain({
    quick: true,
    messages: 2000,
    processes: [2],
    systems: ["bullmq"],
    resultsFolder: folder,
  });
  expect(results.trials).toMatchObject([{ system: "bullmq", error: null, skipped: null }]);
  expect(results.trials[0]?.figures).toMatchObject({ walBytesPerMessage: null, messagesPerSecond: expect.any(Number) });
});

test("messages of BullMQ arrive once, and their latencies are measured", async () => {
  const { results } = await runLatency({
    quick: true,
    durationSeconds: 1,
    rates: [50],
    systems: ["bullmq"],
    resultsFolder: folder,
  });
  expect(results.trials).toMatchObject([{ system: "bullmq", error: null, skipped: null, figures: { messages: 50 } }]);
});
