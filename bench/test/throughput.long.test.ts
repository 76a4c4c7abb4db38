import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runThroughput } from "#src/scenarios/throughput/throughput";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test throughput "));
});
afterAll(() => rm(folder, { recursive: true }));

test("sends and receives have their figures, beside what was published", { timeout: 240_000 }, async () => {
  const systems = ["pgque", "skip-locked", "pgq"];
  const { results, report, failed } = await runThroughput({
    quick: true,
    durationSeconds: 1,
    batch: 200,
    messages: 600,
    clients: 2,
    systems,
    resultsFolder: folder,
  });
  expect(failed).toBe(false);
  expect(results.trials).toHaveLength(5 * systems.length);
  for (const { system, kind, payloadBytes, figures, skipped } of results.trials) {
    if (system === "pgq") {
      expect(skipped).toContain("--pgq-sql FILE");
      continue;
    }
    expect(figures?.messagesPerSecond).toBeGreaterThan(0);
    // what is read or deleted was written before
    expect(figures?.walBytesPerMessage).toBeGreaterThan(kind === "send" ? payloadBytes : 0);
    if (system === "pgque") expect(figures?.deadTuples).toBe(0);
  }
  const text = await readFile(path.join(folder, "report.md"), "utf8");
  expect(text).toMatch(/^\| send 1 a call, 2 clients \| 100 B \| skip-locked \| .* \| 85,836 \|/m);
  expect(text).toMatch(/^\| receive 200 a call \| 2\.0 KiB \| pgque \| .* \| 305,000 \|/m);
  expect(text).toContain("Apple machine of 10 cores");
  expect(report()).toMatch(/^receive 200 a call +100 B +skip-locked /m);
  expect(report()).toContain("published");
});
