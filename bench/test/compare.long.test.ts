import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCompare, type CompareOptions, type CompareResults } from "#src/scenarios/compare";
import type { Run } from "#src/runner/run";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test compare "));
});
afterAll(() => rm(folder, { recursive: true }));

/** A machine that is too busy to send on time makes a trial invalid, as it should. */
async function runUndisturbed(options: CompareOptions): Promise<Run<CompareResults>> {
  for (let tries = 1; ; tries += 1) {
    const run = await runCompare(options);
    if (tries === 5 || !run.results.trials.some(({ error }) => error?.includes("the harness was"))) return run;
  }
}

test("every system has one row, with what it did without and with the horizon held", { timeout: 240_000 }, async () => {
  const systems = ["pgque", "skip-locked"];
  const { results, report } = await runUndisturbed({ quick: true, durationSeconds: 1, systems, resultsFolder: folder });
  expect(results.trials.map(({ error }) => error)).toEqual([null, null]);
  const [pgque, skipLocked] = results.trials.map(({ figures }) => figures);
  for (const figures of [pgque, skipLocked]) {
    for (const phase of [figures?.clean, figures?.held]) {
      expect(phase?.finishedPerSecond).toBeGreaterThan(0);
      expect(phase?.walBytesPerMessage).toBeGreaterThan(75);
    }
    expect(figures?.latencyMs?.p50).toBeGreaterThan(0);
    expect(figures?.latencyHeldMs?.p50).toBeGreaterThan(0);
  }
  expect(pgque?.held.deadTuples).toBe(0);
  expect(skipLocked?.held.deadTuples).toBeGreaterThan(0);
  const text = await readFile(path.join(folder, "report.md"), "utf8");
  for (const system of systems) {
    expect(text).toMatch(new RegExp(`^\\| ${system} \\| `, "m"));
    expect(report()).toMatch(new RegExp(`^${system} `, "m"));
  }
});
