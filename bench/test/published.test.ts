import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { drainPublished, drainRows, type DrainResults } from "#src/scenarios/drain/drain";
import { latencyPublished, type LatencyRow } from "#src/scenarios/latency/latency";
import { publishedSection } from "#src/report/scenario-report";
import { latencySystems, named } from "#src/adapters/registry";
import { xminPublished } from "#src/scenarios/xmin/published";
import type { Results } from "#src/scenarios/xmin/results";

const committed = (name: string): unknown =>
  JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../results", name, "results.json"), "utf8"));

const xmin = committed("xmin-800") as Results;

test("xmin at the published rate has the published figures beside those of the same trials", () => {
  const { rows } = xminPublished(xmin);
  expect(rows.map(([system, horizon, rate]) => [system, horizon, rate])).toEqual([
    ["skip-locked", "none", "797"],
    ["skip-locked", "repeatable-read", "517"],
  ]);
});

test("xmin under another load has none beside it, and no section", () => {
  const other = { ...xmin, settings: { ...xmin.settings, rate: 100 } };
  expect(publishedSection(xminPublished(other))).toEqual([]);
});

test("drain has what was published of four processes beside its own four", () => {
  const results = committed("drain") as DrainResults;
  expect(drainPublished(drainRows(results)).rows.map(([system, processes]) => [system, processes])).toEqual([
    ["graphile-worker", "4"],
  ]);
  const one = { ...results, settings: { ...results.settings, processes: [1] } };
  expect(drainPublished(drainRows(one)).rows).toEqual([]);
});

test("latency is compared at the lowest rate of the run", () => {
  const row = (name: string, messagesPerSecond: number, mean: number): LatencyRow => ({
    system: named(latencySystems, name),
    messagesPerSecond,
    measured: [
      {
        latencyMs: { mean, p50: mean / 2, p95: mean, p99: mean, p999: mean, max: mean },
        latenessMs: null,
      } as LatencyRow["measured"][number],
    ],
    ratio: null,
    errors: [],
    skipped: [],
  });
  const { rows } = latencyPublished([row("pgque", 1000, 80), row("pgque", 1, 8), row("graphile-worker", 1, 6)]);
  expect(rows.map((cells) => cells.at(-1))).toEqual(["6.00 ms (graphile-worker, 1/s)", "skipped", "skipped"]);
});
