import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runPriority } from "#src/scenarios/priority";
import { runBench } from "#src/scenarios/xmin/xmin";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test majors "));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (name: string): Promise<string> => readFile(path.join(folder, name), "utf8");

const major = ({ postgres }: { postgres: string }): number => Number.parseInt(postgres, 10);

test("every step is run on each major, by turns, and ratios are within one", { timeout: 240_000 }, async () => {
  const options = { quick: true, jobs: 50, workers: 2, systems: ["pgque", "skip-locked"], repeat: 2 };
  const { results, report } = await runPriority({ ...options, postgresMajors: [18, 15], resultsFolder: folder });
  expect(results.trials.map((trial) => `${trial.repeat} ${trial.system} ${major(trial)}`)).toEqual([
    "1 pgque 18",
    "1 pgque 15",
    "1 skip-locked 15",
    "1 skip-locked 18",
    "2 skip-locked 15",
    "2 skip-locked 18",
    "2 pgque 18",
    "2 pgque 15",
  ]);
  expect(results.trials.filter(({ error, skipped }) => (error ?? skipped) !== null)).toEqual([]);
  expect(results.settings.postgresMajors).toEqual([18, 15]);
  expect(results.majors?.map(({ major, skipped }) => [major, skipped])).toEqual([
    [18, null],
    [15, null],
  ]);
  const rows = (await read("report.md")).split("\n").filter((line) => /^\| (?:pgque|skip-locked) \|/.test(line));
  expect(rows.map((row) => row.split(/ *\| */).slice(1, 3))).toEqual([
    ["pgque", expect.stringMatching(/^18\./)],
    ["pgque", expect.stringMatching(/^15\./)],
    ["skip-locked", expect.stringMatching(/^18\./)],
    ["skip-locked", expect.stringMatching(/^15\./)],
  ]);
  expect(report().match(/^PostgreSQL (?:18|15)\.\d+$/gm)).toHaveLength(2);
});

test("xmin has charts, samples and a baseline of each major", { timeout: 240_000 }, async () => {
  const options = { quick: true, durationSeconds: 1, systems: ["pgque"], horizons: ["none"], resultsFolder: folder };
  await runBench({ ...options, postgresMajors: [17, 14] });
  const samples = (await read("samples.csv")).trim().split("\n");
  const postgres = samples[0]?.split(",").indexOf("postgres") ?? -1;
  const sampled = new Set(samples.slice(1).map((line) => Number.parseInt(line.split(",")[postgres] ?? "", 10)));
  expect(sampled).toEqual(new Set([17, 14]));
  expect((await read("report.html")).match(/class="chart-data"/g)).toHaveLength(2);

  const baselineFile = path.join(folder, "results.json");
  const { report } = await runBench({ ...options, postgresMajors: [14, 15], baselineFile });
  const [of14, of15] = report().split(/^PostgreSQL 15\.\d+$/m);
  expect(of14).toContain("The baseline is the run of");
  expect(of15).toContain("The baseline has no trials of PostgreSQL 15 to compare these with.");
});
