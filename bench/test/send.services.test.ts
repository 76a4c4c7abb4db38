import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runSend } from "#src/scenarios/send/send";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test send "));
});
afterAll(() => rm(folder, { recursive: true }));

test("BullMQ is measured on Redis servers of its own, with Redis's CPU beside its rate", async () => {
  const { results } = await runSend({
    quick: true,
    systems: ["pgque", "bullmq", "bullmq-aof"],
    payloadBytes: [100],
    messages: [1000],
    connections: [1],
    resultsFolder: folder,
  });

  const many = results.trials.filter(({ group }) => group === "many");
  expect(many.map(({ system, error, skipped }) => ({ system, error, skipped }))).toEqual(
    ["pgque", "bullmq", "bullmq-aof"].map((system) => ({ system, error: null, skipped: null })),
  );
  for (const { figures } of many) {
    expect(figures?.messagesPerSecond).toBeGreaterThan(0);
    expect(figures?.serverCpuSecondsPerThousand).toBeGreaterThan(0);
  }
  expect(many.map(({ figures }) => figures?.walBytesPerMessage === null)).toEqual([false, true, true]);
});
