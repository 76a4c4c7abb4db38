import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { atLeast, outcomeLine, outcomeOf } from "#src/runner/target";
import { ratio } from "#src/report/format";
import { targetsIn } from "#src/targets/targets";
import { targetsMarkdown, targetsTerminal } from "#src/targets/targets-table";
import type { Results } from "#src/scenarios/xmin/results";
import { xminOutcomes } from "#src/scenarios/xmin/targets";

const committed = path.resolve(import.meta.dirname, "../results");
const target = atLeast(8, ratio);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test targets "));
});
afterAll(() => rm(folder, { recursive: true }));

test("the median is compared, and its range is told", () => {
  const measured = { median: 7.9, min: 7, max: 9 };
  expect(outcomeLine(outcomeOf("drain", target, ratio, { measured }))).toBe(
    "drain: 7.90 (7.00–9.00) (≥ 8.00): not met",
  );
  const more = { median: 8, min: 7, max: 9 };
  expect(outcomeLine(outcomeOf("drain", target, ratio, { measured: more }))).toBe(
    "drain: 8.00 (7.00–9.00) (≥ 8.00): met",
  );
});

test.each([
  [{ errors: ["lost one"] }, "error: lost one"],
  [{ skipped: ["redis-server is not installed"] }, "skipped, because redis-server is not installed"],
  [{}, "not measured"],
])("without figures there is a reason and no verdict: %j", (reasons, said) => {
  expect(outcomeLine(outcomeOf("drain", target, ratio, { measured: null, ...reasons }))).toBe(`drain: ${said}`);
});

test("the committed table is what the committed results come to", async () => {
  const runs = await targetsIn([committed]);
  expect(targetsMarkdown(runs)).toBe(readFileSync(path.join(committed, "targets.md"), "utf8"));
  const text = targetsTerminal(runs);
  for (const { folder: each, outcomes } of runs) {
    expect(text).toContain(each);
    for (const { what, verdict } of outcomes) {
      expect(text.split("\n").filter((line) => line.startsWith(what) && line.includes(verdict))).not.toEqual([]);
    }
  }
});

test.each([
  ["[1]", "a folder with the results.json of a run"],
  ["{", "a folder with the results.json of a run"],
  ['{"schemaVersion": 99, "settings": {}}', "a results.json of schemaVersion 2"],
])("a results.json that is none is refused: %s", async (text, expected) => {
  await writeFile(path.join(folder, "results.json"), text);
  await expect(targetsIn([folder])).rejects.toThrow(expected);
});

test("a folder without results is refused", async () => {
  await expect(targetsIn([path.join(folder, "no such")])).rejects.toThrow("with a results.json");
});

test("trials that are too short for a rotation do not say that there is none under a held horizon", async () => {
  const results = JSON.parse(readFileSync(path.join(committed, "xmin-800", "results.json"), "utf8")) as Results;
  const verdicts = (changed: Results): (string | undefined)[] =>
    ["rotations while held", "bytes given back while held"].map(
      (what) => xminOutcomes(changed).find((outcome) => outcome.what.endsWith(what))?.verdict,
    );
  const without = (horizons: string[]): Results => ({
    ...results,
    trials: results.trials.map((trial) =>
      horizons.includes(trial.horizon) ? { ...trial, rotations: 0, bytesReclaimed: 0 } : trial,
    ),
  });
  expect(verdicts(results)).toEqual(["met", "met"]);
  expect(verdicts(without(["repeatable-read"]))).toEqual(["not met", "not met"]);
  expect(verdicts(without(["none", "repeatable-read"]))).toEqual(["not measured", "not measured"]);
});
