import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BenchOptionError } from "#src/runner/options";
import { compared, differences, likeWithLike, readBaseline } from "#src/scenarios/xmin/baseline";
import { htmlPage } from "#src/report/html/page";
import { markdown } from "#src/report/markdown";
import { xminReporting } from "#src/scenarios/xmin/report";
import type { Results } from "#src/scenarios/xmin/results";
import { resolveSettings } from "#src/scenarios/xmin/settings";
import { largeRun } from "./support/large-run.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test baseline "));
});
afterAll(() => rm(folder, { recursive: true }));

const { results } = largeRun(["pgque", "skip-locked"]);

async function written(content: string): Promise<string> {
  const file = path.join(folder, "results.json");
  await writeFile(file, content);
  return file;
}

test("an earlier run with the same settings is read back", async () => {
  const file = await written(JSON.stringify(results));
  expect(await readBaseline(file, "xmin", resolveSettings({}))).toEqual(results);
});

test.each<[string, string, string]>([
  [
    "a version of the format",
    JSON.stringify({ ...results, schemaVersion: 3 }),
    "schemaVersion 2, got: schemaVersion 3",
  ],
  [
    "a scenario",
    JSON.stringify({ ...results, scenario: "drain" }),
    "the scenario xmin, got: one of the scenario drain",
  ],
  ["no trials", JSON.stringify({ ...results, trials: undefined }), "with settings and trials, got: one without"],
  [
    "settings, each of them named",
    JSON.stringify({ ...results, settings: { ...results.settings, rate: 400, batch: 10, payloadBytes: 1000 } }),
    "the same settings as this one, got: rate 400 (this run: 800), batch 10 (this run: 100), payload-bytes 1000 (this run: 75)",
  ],
  [
    "no trial of this run",
    JSON.stringify({ ...results, trials: [] }),
    "at least one trial of pgque, skip-locked under none, repeatable-read, got: one without",
  ],
  ["no JSON", "{", "the results.json of an earlier run, got: "],
  ["no object", "null", "it holds no object"],
])("one that cannot be compared is refused in words: %s", async (_, content, message) => {
  const reading = readBaseline(await written(content), "xmin", resolveSettings({}));
  await expect(reading).rejects.toThrow(BenchOptionError);
  await expect(reading).rejects.toThrow(message);
});

test("a file that is not there is named", async () => {
  const file = path.join(folder, "missing.json");
  await expect(readBaseline(file, "xmin", resolveSettings({}))).rejects.toThrow(`got: ${file}: ENOENT`);
});

test("medians are compared as a ratio, with both ranges; what has no ratio has none", () => {
  const slower = {
    ...results,
    trials: results.trials.map((trial) => ({
      ...trial,
      dequeuedPerSecond: trial.repeat * 100,
      deadTuples: 0,
      bytes: null,
    })),
  };
  const rows = compared(results, slower).filter(
    ({ system, horizon }) => system === "skip-locked" && horizon === "none",
  );
  expect(rows.map(({ figure, now, before, ratio }) => [figure, now, before, ratio])).toEqual([
    ["finished per second", "798 (797–799)", "200 (100–300)", "3.99"],
    ["dead tuples", "1,000", "0", "–"],
    ["on disk", "16.0 MiB", "–", "–"],
  ]);
});

test("what else differs is told, and that the baseline was interrupted", () => {
  const other = { ...results, interrupted: true, machine: { ...results.machine, cores: 4 } };
  expect(differences(results, other)).toEqual([
    "machine: a CPU, 2 cores, in the baseline a CPU, 4 cores",
    "the baseline was interrupted",
  ]);
});

test("a system that the baseline has not is not compared", () => {
  const only = { ...results, trials: results.trials.filter(({ system }) => system === "pgque") };
  expect(new Set(compared(results, only).map(({ system }) => system))).toEqual(new Set(["pgque"]));
});

test("a baseline of several majors is compared by the trials of the same one, and says when it has none", () => {
  const on = (postgres: string, run = results): Results => ({
    ...run,
    trials: run.trials.map((trial) => ({ ...trial, postgres })),
  });
  const both: Results = { ...results, trials: [...on("14.23").trials, ...on("17.9").trials] };
  expect(likeWithLike(results, both).trials).toEqual(on("17.9").trials);
  expect(likeWithLike(on("18.4"), both).trials).toEqual([]);
  expect(likeWithLike(on("18.4"), results).trials).toEqual(results.trials);
  const oneOfTwo = { ...on("18.4"), majors: [] };
  expect(markdown(xminReporting.document(oneOfTwo, [], results))).toContain(
    "The baseline has no trials of PostgreSQL 18 to compare these with.",
  );
});

test("what an older file calls an error that begins with not run was not run", async () => {
  const [trial] = results.trials;
  const { skipped: _later, ...old } = { ...trial, error: "skipped, because redis-server is not installed" };
  const file = await written(JSON.stringify({ ...results, trials: [old, ...results.trials.slice(1)] }));
  const read = await readBaseline(file, "xmin", resolveSettings({}));
  expect(read.trials.slice(0, 2)).toMatchObject([
    { skipped: "redis-server is not installed", error: null },
    { skipped: null, error: null },
  ]);
});

test("the comparison is in both reports and in the terminal, which it fits; without a baseline in none", () => {
  const document = xminReporting.document(results, [], results);
  expect(markdown(document)).toContain(
    "| skip-locked | none | finished per second | 798 (797–799) | 798 (797–799) | 1.00 |",
  );
  expect(htmlPage(document)).toContain("Against the baseline");
  const terminal = xminReporting.report(results, results).split("\n");
  const from = terminal.findIndex((line) => line.startsWith("The baseline is the run of 2026-01-31 08:05 UTC"));
  expect(from).toBeGreaterThan(0);
  expect(Math.max(...terminal.slice(from).map(({ length }) => length))).toBeLessThanOrEqual(100);
  expect(markdown(xminReporting.document(results, []))).not.toContain("baseline");
});
