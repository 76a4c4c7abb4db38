import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runRates } from "#src/scenarios/rates/rates";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test rates "));
});
afterAll(() => rm(folder, { recursive: true }));

test(
  "workers of every system handle each message once, at a rate, saturated, and when there is none",
  { timeout: 240_000 },
  async () => {
    const rates = ["idle", "50", "saturated"];
    const { results } = await runRates({ quick: true, durationSeconds: 1, rates, workers: [3], resultsFolder: folder });
    expect(results.trials.length).toBe(3 * results.settings.systems.length);
    for (const { system, rate, error, skipped, figures } of results.trials) {
      expect({ system, rate, error, skipped }).toEqual({ system, rate, error: null, skipped: null });
      if (rate === "idle") expect(figures?.latencyMs).toBeNull();
      else expect(figures?.latencyMs?.p50).toBeGreaterThan(0);
      if (rate !== "saturated") expect(figures?.messages).toBe(rate === "idle" ? 0 : 50);
      if (["pgque", "skip-locked"].includes(system) && rate === "50") expect(figures?.receives).toBeGreaterThan(0);
    }
    const report = await readFile(path.join(folder, "report.md"), "utf8");
    expect(report).toMatch(/^\| skip-locked \| 3 \| 50\/s \|/m);
  },
);
