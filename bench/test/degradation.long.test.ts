import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { degradedSystemNames } from "#src/adapters/registry";
import type { Run } from "#src/runner/run";
import { runDegradation, type DegradationResults } from "#src/scenarios/degradation/degradation";
import type { DegradationOptions } from "#src/scenarios/degradation/measure";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test degradation "));
});
afterAll(() => rm(folder, { recursive: true }));

/** A machine that is too busy to send on time, or to keep up with so few messages, makes a trial invalid, as it should. */
async function runUndisturbed(options: DegradationOptions): Promise<Run<DegradationResults>> {
  for (let tries = 1; ; tries += 1) {
    const run = await runDegradation(options);
    if (tries === 10 || !run.results.trials.some(({ error }) => error?.startsWith("invalid: "))) return run;
  }
}

const read = (file: string): Promise<string> => readFile(path.join(folder, file), "utf8");

test.each(degradedSystemNames)(
  "beside a long transaction %s leaves the dead tuples that it does, and tells how long it took to lock",
  async (system) => {
    const options = { quick: true, durationSeconds: 2, rate: 20, systems: [system], resultsFolder: folder };
    const { results, report } = await runUndisturbed(options);
    expect(results.trials.map(({ error }) => error)).toEqual([null]);
    const [{ figures } = { figures: null }] = results.trials;
    expect(figures?.finishedPerSecond).toBeGreaterThan(0);
    expect(figures?.lockCleanMs?.p50).toBeGreaterThan(0);
    expect(figures?.oldestTransactionSeconds).toBeGreaterThan(1);
    if (system.startsWith("pgque")) expect(figures?.deadTuples).toBe(0);
    else expect(figures?.deadTuples).toBeGreaterThan(0);
    expect(await read("report.md")).toMatch(new RegExp(`^\\| ${system} \\| \\d`, "m"));
    expect(report()).toMatch(new RegExp(`^${system} `, "m"));
    const page = await read("report.html");
    for (const measure of ["depth", "lockP50Ms", "deadTuples", "oldestTransactionSeconds"])
      expect(page).toContain(`data-measure="${measure}"`);
    const [heads = ""] = (await read("samples.csv")).split("\n");
    expect(heads.split(",")).toEqual(expect.arrayContaining(["system", "lockP50Ms", "oldestTransactionSeconds"]));
  },
);

test("a consumer that cannot keep up while all is clean is an error and not a figure", async () => {
  const options = { quick: true, durationSeconds: 2, rate: 100_000, systems: ["que"], resultsFolder: folder };
  const { results, failed } = await runDegradation(options);
  expect(results.trials.map(({ figures }) => figures)).toEqual([null]);
  expect(results.trials[0]?.error).toMatch(/^invalid: /);
  expect(failed).toBe(true);
  expect(await read("report.md")).toMatch(/^\| que, published \| 60,000 \| – \| 15:00 \|/m);
});
