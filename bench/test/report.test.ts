import { expect, test } from "vitest";
import { bytes, clock, ms } from "#src/report/format";
import { markdown } from "#src/report/markdown";
import { findings, xminReporting } from "#src/scenarios/xmin/report";
import type { Proof } from "#src/horizons/horizon";
import { cellWithout, type CellDetails, type CellResult, type Results } from "#src/scenarios/xmin/results";
import { spreadOf } from "#src/measure/statistics";
import { rowsOf } from "#src/scenarios/xmin/columns";
import { resolveSettings } from "#src/scenarios/xmin/settings";

function cell(system: string, horizon: string, repeat: number, dequeuedPerSecond: number): CellResult {
  return {
    ...cellWithout({ system, horizon, repeat, postgres: "17.10" }, { notRun: null, error: null }),
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
  const broken = cellWithout(
    { system: "skip-locked", horizon: "none", repeat: 1, postgres: "17.10" },
    { notRun: null, error: "deadlock detected" },
  );
  const run = results([cell("pgque", "none", 1, 100), broken]);
  const line = xminReporting
    .report(run)
    .split("\n")
    .find((text) => text.startsWith("skip-locked"));
  expect(line).toMatch(/^skip-locked +none +error: deadlock detected *$/);
  const text = markdown(xminReporting.document(run, []));
  expect(text).toContain("| skip-locked | none | error: deadlock detected |  |");
  expect(text).toContain("- skip-locked, none: deadlock detected");
});

test("a cell that was not run says so, and is no error", () => {
  const identity = { system: "bullmq", horizon: "none", repeat: 1, postgres: "17.10" };
  const run = results([
    cell("pgque", "none", 1, 100),
    cellWithout(identity, { notRun: "redis-server is not installed", error: null }),
  ]);
  run.settings.systems = ["pgque", "bullmq"];
  expect(xminReporting.report(run)).toMatch(/^bullmq +none +not run, because redis-server is not installed *$/m);
  const text = markdown(xminReporting.document(run, []));
  expect(text).toContain("| bullmq | none | not run, because redis-server is not installed |  |");
  expect(text).toContain("- bullmq, none: not run, because redis-server is not installed");
});

test("what a horizon holds besides the tables is in the report: catalogs, WAL, messages", () => {
  const held = (horizon: string, proof: Proof): CellResult => ({
    ...cell("pgque", horizon, 1, 100),
    details: {
      horizon: proof,
      catalogDeadTuples: { before: 3, after: 400, byRelation: {} },
      clean: {},
      harness: {},
    } as unknown as CellDetails,
  });
  const run = results([
    cell("pgque", "none", 1, 100),
    held("logical-slot", { xminAge: 0, catalogXminAge: 2904, retainedWalBytes: 5 * 2 ** 20 }),
    held("lagging-consumer", { xminAge: 0, messagesKept: 15_090 }),
  ]);
  run.settings.horizons = ["none", "logical-slot", "lagging-consumer"];
  expect(findings(run)).toEqual([
    "pgque, with a logical slot that nobody reads (logical-slot), ran at 100 % of its rate without, left 7 dead tuples (without: 7) and used 2.0 KiB (without: 2.0 KiB). 5.0 MiB of WAL were kept for it, and 400 dead rows in system catalogs.",
    "pgque, with a second consumer that takes nothing (lagging-consumer), ran at 100 % of its rate without, left 7 dead tuples (without: 7) and used 2.0 KiB (without: 2.0 KiB). 15,090 messages were kept for it.",
  ]);
  const text = markdown(xminReporting.document(run, []));
  expect(text).toContain(
    "| system | horizon held by | age | catalogs' age | dead catalog rows before | after | retained WAL | kept |",
  );
  expect(text).toContain("| pgque | logical-slot | 0 | 2,904 | 3 | 400 | 5.0 MiB | – |");
  expect(text).toContain("| pgque | lagging-consumer | 0 | – | 3 | 400 | – | 15,090 |");
});

test("the table fits a terminal of 100 columns", () => {
  const run = results([cell("skip-locked", "none", 1, 123_456), cell("skip-locked", "repeatable-read", 1, 12_345)]);
  const table = xminReporting.report(run).split("\n\n")[0] ?? "";
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
