import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runPriority } from "#src/scenarios/priority";
import { pickerNames } from "#src/adapters/registry";
import { silent } from "#src/runner/scenario";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test priority "));
});
afterAll(() => rm(folder, { recursive: true }));

test("every way to pick does each job once, by priority", { timeout: 240_000 }, async () => {
  const { results, report } = await runPriority({ quick: true, jobs: 500, workers: 4, resultsFolder: folder });
  expect(results.trials.map(({ system, error }) => ({ system, error }))).toEqual(
    pickerNames.map((system) => ({ system, error: null })),
  );
  for (const { system, figures } of results.trials) {
    expect(figures?.seconds).toBeGreaterThan(0);
    // a batch of pgque-batch is all in hand; what is no queue has no order
    if (system.startsWith("update-")) expect(figures?.outOfOrder).toBeNull();
    else expect(figures?.outOfOrder).toBeLessThan(250);
  }
  const text = await readFile(path.join(folder, "report.md"), "utf8");
  expect(text).toMatch(/^\| skip-locked \| [\d.]+ s \| 15\.6 s \|/m);
  expect(report()).toMatch(/^pgque-batch /m);
});

test("what was measured is kept when the run fails", async () => {
  const failing = {
    ...silent,
    stepDone() {
      throw new Error("the terminal is gone");
    },
  };
  const options = { quick: true, jobs: 50, workers: 2, systems: ["pgque", "skip-locked"], resultsFolder: folder };
  await expect(runPriority(options, { progress: failing })).rejects.toThrow("the terminal is gone");
  const { trials, interrupted } = JSON.parse(await readFile(path.join(folder, "results.json"), "utf8"));
  expect(trials.map(({ system }: { system: string }) => system)).toEqual(["pgque"]);
  expect(interrupted).toBe(true);
});
