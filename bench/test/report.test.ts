import { expect, test } from "vitest";
import { bytes, clock, ms } from "#src/report/format";
import { markdownReport } from "#src/report/md";
import { failedCell, type CellResult, type Results } from "#src/report/results";
import { rowsOf, spreadOf } from "#src/report/summary";
import { terminalReport } from "#src/report/table";
import { resolveSettings } from "#src/settings";

function cell(system: string, horizon: string, repeat: number, dequeuedPerSecond: number): CellResult {
  return {
    ...failedCell({ system, horizon, repeat, postgres: "17.10" }, ""),
    dequeuedPerSecond,
    deadTuples: 7,
    bytes: 2048,
    error: null,
  };
}

function results(cells: CellResult[]): Results {
  const settings = resolveSettings({ quick: true });
  return {
    schemaVersion: 1,
    scenario: "xmin",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 34, platform: "linux", node: "24.0.0" },
    settings: { ...settings, indicative: true, embedded: true, server: { fsync: "on" } },
    cells,
    interrupted: false,
  };
}

test("held is compared with none of the same repeat", () => {
  const rows = rowsOf(
    results([
      cell("pgque", "none", 1, 100),
      cell("pgque", "repeatable-read", 1, 90),
      cell("pgque", "none", 2, 200),
      cell("pgque", "repeatable-read", 2, 220),
      cell("pgque", "none", 3, 100),
      cell("pgque", "repeatable-read", 3, 100),
    ]),
  );
  expect(rows.map(({ horizon, heldToNone }) => [horizon, heldToNone])).toEqual([
    ["none", null],
    ["repeatable-read", { median: 1, min: 0.9, max: 1.1 }],
  ]);
});

test("a failed cell prints its error and no number", () => {
  const broken = failedCell(
    { system: "skip-locked", horizon: "none", repeat: 1, postgres: "17.10" },
    "deadlock detected",
  );
  const run = results([cell("pgque", "none", 1, 100), broken]);
  const line = terminalReport(run)
    .split("\n")
    .find((text) => text.startsWith("skip-locked"));
  expect(line).toMatch(/^skip-locked +none +error: deadlock detected *$/);
  expect(markdownReport(run)).toMatch(/\| skip-locked \| none \| error \|/);
  expect(markdownReport(run)).toContain("skip-locked, none: deadlock detected");
});

test("the table fits a terminal of 100 columns", () => {
  const run = results([cell("skip-locked", "none", 1, 123_456), cell("skip-locked", "repeatable-read", 1, 12_345)]);
  const table = terminalReport(run).split("\n\n")[0] ?? "";
  expect(Math.max(...table.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(100);
});

test("the median of an even number lies between the two in the middle; nothing measured is null", () => {
  expect(spreadOf([4, null, 1, 3, undefined, 2])).toEqual({ median: 2.5, min: 1, max: 4 });
  expect(spreadOf([null])).toBeNull();
});

test("figures read as a person would write them", () => {
  expect([bytes(512), bytes(27.04 * 2 ** 20)]).toEqual(["512 B", "27.0 MiB"]);
  expect([ms(1.349), ms(24.06), ms(1368.4), ms(12_345)]).toEqual(["1.35 ms", "24.1 ms", "1,368 ms", "12.3 s"]);
  expect([clock(65), clock(3725)]).toEqual(["1:05", "1:02:05"]);
});
