import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silent } from "#src/runner/scenario";
import { runSoak, type SoakTrial } from "#src/scenarios/soak/soak";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test soak "));
});
afterAll(() => rm(folder, { recursive: true }));

/** A machine that is too busy to send on time makes a trial invalid, as it should. */
const disturbed = ({ error }: SoakTrial): boolean => /the harness was|sends took|fell behind/.test(error ?? "");

test("every system is judged by each measure, and every message is received once", { timeout: 300_000 }, async () => {
  const systems = ["pgque", "skip-locked"];
  const { results, report } = await runSoak({
    quick: true,
    durationSeconds: 8,
    rate: 20,
    systems,
    horizons: ["repeatable-read"],
    resultsFolder: folder,
  });
  expect(results.trials.map(({ system }) => system)).toEqual(systems);
  expect(results.trials.filter((trial) => trial.error !== null && !disturbed(trial))).toEqual([]);
  for (const { system, figures } of results.trials.filter((trial) => !disturbed(trial))) {
    expect(figures?.drifts.map(({ measure }) => measure)).toEqual(
      expect.arrayContaining(["deadTuples", "bytes", "latencyP99Ms", "clientRssBytes", "clientHeapBytes"]),
    );
    expect(figures?.finishedPerSecond).toBeGreaterThan(0);
    expect((figures?.deadTuples ?? 0) > 0).toBe(system === "skip-locked");
    expect(report()).toMatch(new RegExp(`^${system} +repeatable-read +dead tuples `, "m"));
  }

  const file = (name: string): Promise<string> => readFile(path.join(folder, name), "utf8");
  expect(await file("report.md")).toMatch(/^\| pgque \| repeatable-read \| /m);
  expect(await file("report.html")).toContain('data-measure="latencyP99Ms"');
  const [head, ...lines] = (await file("samples.csv")).trim().split("\n");
  expect(head).toMatch(/latencyP99Ms,.*clientRssBytes,clientHeapBytes,serverMemoryBytes$/);
  const deadTuples = (system: string): number =>
    Math.max(...lines.filter((line) => line.startsWith(`${system},`)).map((line) => Number(line.split(",")[9])));
  expect(head?.split(",")[9]).toBe("deadTuples");
  expect(deadTuples("pgque")).toBe(0);
  expect(deadTuples("skip-locked")).toBeGreaterThan(0);
});

test("a soak that is stopped has no figures and keeps its samples", { timeout: 120_000 }, async () => {
  const stop = new AbortController();
  let sampled = 0;
  const note = (text: string): void => {
    if (text.startsWith("soak, ")) sampled += 1;
    if (sampled === 3) stop.abort(new Error("enough"));
  };
  const progress = { ...silent, note };
  const options = { quick: true, durationSeconds: 3600, rate: 20, resultsFolder: folder };
  const { results } = await runSoak(options, { signal: stop.signal, progress });
  expect(results.interrupted).toBe(true);
  expect(results.trials).toMatchObject([{ figures: null, error: expect.stringMatching(/^stopped after \d+:\d\d$/) }]);
  expect((await readFile(path.join(folder, "samples.csv"), "utf8")).trim().split("\n").length).toBeGreaterThan(3);
});
