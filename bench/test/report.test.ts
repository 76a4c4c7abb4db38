import { expect, test } from "vitest";
import { bytes, clock, ms } from "#src/report/format";
import { markdown } from "#src/report/markdown";
import { findings, headline } from "#src/scenarios/xmin/findings";
import { xminReporting } from "#src/scenarios/xmin/report";
import type { Proof } from "#src/horizons/horizon";
import { trialWithout, type TrialDetails, type TrialResult, type Results } from "#src/scenarios/xmin/results";
import { spreadOf } from "#src/measure/statistics";
import { rowsOf } from "#src/scenarios/xmin/columns";
import { resolveSettings } from "#src/scenarios/xmin/settings";

function trial(system: string, horizon: string, repeat: number, dequeuedPerSecond: number): TrialResult {
  return {
    ...trialWithout({ system, horizon, repeat, postgres: "17.10" }, { skipped: null, error: null }),
    dequeuedPerSecond,
    deadTuples: 7,
    bytes: 2048,
    error: null,
  };
}

function results(trials: TrialResult[]): Results {
  const settings = resolveSettings({ quick: true });
  return {
    schemaVersion: 2,
    scenario: "xmin",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 34, platform: "linux", node: "24.0.0" },
    settings: { ...settings, indicative: true, embedded: true, server: { fsync: "on" } },
    trials,
    interrupted: false,
  };
}

test("held is compared with none of the same repeat", () => {
  const rows = rowsOf(
    results([
      trial("pgque", "none", 1, 100),
      trial("pgque", "repeatable-read", 1, 90),
      trial("pgque", "none", 2, 200),
      trial("pgque", "repeatable-read", 2, 220),
      trial("pgque", "none", 3, 100),
      trial("pgque", "repeatable-read", 3, 100),
    ]),
  );
  expect(rows.map(({ horizon, heldToNone }) => [horizon, heldToNone])).toEqual([
    ["none", null],
    ["repeatable-read", { median: 1, min: 0.9, max: 1.1 }],
  ]);
});

test("a failed trial prints its error and no number", () => {
  const broken = trialWithout(
    { system: "skip-locked", horizon: "none", repeat: 1, postgres: "17.10" },
    { skipped: null, error: "deadlock detected" },
  );
  const run = results([trial("pgque", "none", 1, 100), broken]);
  const line = xminReporting
    .report(run)
    .split("\n")
    .find((text) => text.startsWith("skip-locked"));
  expect(line).toMatch(/^skip-locked +none +error: deadlock detected *$/);
  const text = markdown(xminReporting.document(run, []));
  expect(text).toContain("| skip-locked | none | error: deadlock detected |  |");
  expect(text).toContain("- skip-locked, none: deadlock detected");
});

test("a trial that was not run says so, and is no error", () => {
  const identity = { system: "bullmq", horizon: "none", repeat: 1, postgres: "17.10" };
  const run = results([
    trial("pgque", "none", 1, 100),
    trialWithout(identity, { skipped: "redis-server is not installed", error: null }),
  ]);
  run.settings.systems = ["pgque", "bullmq"];
  expect(xminReporting.report(run)).toMatch(/^bullmq +none +skipped, because redis-server is not installed *$/m);
  const text = markdown(xminReporting.document(run, []));
  expect(text).toContain("| bullmq | none | skipped, because redis-server is not installed |  |");
  expect(text).toContain("- bullmq, none: skipped, because redis-server is not installed");
});

test("what a horizon holds besides the tables is in the report: catalogs, WAL, messages", () => {
  const held = (horizon: string, proof: Proof): TrialResult => ({
    ...trial("pgque", horizon, 1, 100),
    details: {
      horizon: proof,
      catalogDeadTuples: { before: 3, after: 400, byRelation: {} },
      clean: {},
      harness: {},
      calls: { send: null, receiveAndFinish: null },
    } as unknown as TrialDetails,
  });
  const run = results([
    trial("pgque", "none", 1, 100),
    held("logical-slot", { xminAge: 0, catalogXminAge: 2904, retainedWalBytes: 5 * 2 ** 20 }),
    held("lagging-consumer", { xminAge: 0, messagesKept: 15_090 }),
  ]);
  run.settings.horizons = ["none", "logical-slot", "lagging-consumer"];
  expect(findings(run)).toEqual([
    "pgque, with a logical slot that nobody reads (logical-slot), left 7 dead tuples (without: 7) and used 2.0 KiB (without: 2.0 KiB). 5.0 MiB of WAL were kept for it, and 400 dead rows in system catalogs.",
    "pgque, with a second consumer that takes nothing (lagging-consumer), left 7 dead tuples (without: 7) and used 2.0 KiB (without: 2.0 KiB). 15,090 messages were kept for it.",
  ]);
  const text = markdown(xminReporting.document(run, []));
  expect(text).toContain(
    "| system | horizon held by | age | catalogs' age | dead catalog rows before | after | retained WAL | kept |",
  );
  expect(text).toContain("| pgque | logical-slot | 0 | 2,904 | 3 | 400 | 5.0 MiB | – |");
  expect(text).toContain("| pgque | lagging-consumer | 0 | – | 3 | 400 | – | 15,090 |");
  expect(text).toContain("*Kept*: messages");
  run.trials.pop();
  run.settings.horizons.pop();
  expect(markdown(xminReporting.document(run, [])), "of what is not shown").not.toContain("*Kept*");
});

test("the table fits a terminal of 100 columns", () => {
  const run = results([trial("skip-locked", "none", 1, 123_456), trial("skip-locked", "repeatable-read", 1, 12_345)]);
  const table = xminReporting.report(run).split("\n\n")[0] ?? "";
  expect(table).toContain("123,456");
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

test("the report begins with what a held horizon did to the others, by the calls of a closed loop or the latency of a paced one", () => {
  const measured = (
    system: string,
    horizon: string,
    repeat: number,
    deadTuples: number,
    p50Ms: number,
  ): TrialResult => ({
    ...trial(system, horizon, repeat, 100),
    deadTuples,
    latencyMs: { mean: 1, p50: 1, p95: 1, p99: 2 * p50Ms, p999: 1, max: 1 },
    details: {
      clean: {},
      harness: {},
      catalogDeadTuples: { before: 0, after: 0, byRelation: {} },
      calls: { send: null, receiveAndFinish: { calls: 9, meanMs: 1, p50Ms, p99Ms: 1 } },
    } as unknown as TrialDetails,
  });
  const saturated = results([
    measured("pgque", "none", 1, 0, 2),
    measured("pgque", "repeatable-read", 1, 0, 3),
    measured("skip-locked", "none", 1, 5, 1),
    measured("skip-locked", "repeatable-read", 1, 1000, 12),
  ]);
  const paced = { ...saturated, settings: { ...saturated.settings, mode: "paced" as const } };
  expect([...headline(saturated), ...findings(saturated)]).toEqual([
    "With the horizon held by repeatable-read, skip-locked left 1,000 dead tuples and pgque 0; a receive with its ack took skip-locked 4.00 times as long (median).",
    "pgque, with the horizon held by repeatable-read, took a median 3.00 ms (without: 2.00 ms) for a receive with its ack, left 0 dead tuples (without: 0) and used 2.0 KiB (without: 2.0 KiB).",
    "skip-locked, with the horizon held by repeatable-read, took a median 12.0 ms (without: 1.00 ms) for a receive with its ack, left 1,000 dead tuples (without: 5) and used 2.0 KiB (without: 2.0 KiB).",
  ]);
  expect(headline(paced)).toEqual([
    "With the horizon held by repeatable-read, skip-locked left 1,000 dead tuples and pgque 0; the p99 latency of skip-locked was 4.00 times as long.",
  ]);
  expect(xminReporting.report(saturated)).toMatch(/^With the horizon held/);
  expect(markdown(xminReporting.document(saturated, []))).toMatch(/^# .*\n\n\*\*With the horizon held/);
});
