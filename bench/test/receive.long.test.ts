import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runReceive } from "#src/scenarios/receive";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test receive "));
});
afterAll(() => rm(folder, { recursive: true }));

test("every system receives and finishes batches of each size, clean and held", { timeout: 240_000 }, async () => {
  const { results } = await runReceive({ quick: true, batches: 5, heldMessages: 500, resultsFolder: folder });
  const { sizes, systems } = results.settings;
  expect(results.trials.map(({ system, error }) => ({ system, error }))).toEqual(
    systems.map((system) => ({ system, error: null })),
  );
  for (const { figures } of results.trials)
    for (const phase of [figures?.clean, figures?.held]) {
      expect(phase?.map(({ messages }) => messages)).toEqual(sizes);
      for (const batch of phase ?? []) expect(batch.wallMicros).toBeGreaterThan(0);
    }
  const text = await readFile(path.join(folder, "report.md"), "utf8");
  expect(text).toMatch(/^\| none \| pgque \| [\d,]+ µs \|/m);
  expect(text).toMatch(/^\| 100 \| skip-locked-delete \| /m);
});
