import { expect, test } from "vitest";
import type { TableBlock } from "#src/report/document";
import { BenchOptionError } from "#src/runner/options";
import {
  trialSeconds,
  intervalOf,
  resolveRetentionSettings,
  type RetentionFigures,
  type RetentionOptions,
} from "#src/scenarios/retention/measure";
import { intervalText, retentionPlan, retentionReport, type RetentionTrial } from "#src/scenarios/retention/retention";
import { largeRun } from "./support/large-run.ts";

test.each<[RetentionOptions, string]>([
  [
    { intervals: ["10", "fast"] },
    "expected `intervals` to be some of none, dynamic and whole milliseconds from 1 to 3600000, got: fast",
  ],
  [{ intervals: ["0"] }, "got: 0"],
  [{ intervals: ["1.5"] }, "got: 1.5"],
  [{ intervals: ["3600001"] }, "got: 3600001"],
  [{ intervals: [] }, "got: nothing"],
  [{ systems: ["kafka"] }, "got: kafka"],
  [{ scale: 0 }, "expected `scale` to be an integer from 1 to 10000, got: 0"],
  [{ tpcbClients: 0 }, "expected `tpcb-clients` to be an integer from 1 to 100, got: 0"],
  [{ rate: 0 }, "expected `rate` to be an integer from 1 to 1000000, got: 0"],
])("retention, %j is refused in words", (options, message) => {
  expect(() => resolveRetentionSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveRetentionSettings(options)).toThrow(message);
});

test("without options it is what was published, with 800 messages a second beside it", () => {
  expect(resolveRetentionSettings({})).toMatchObject({
    seconds: 120,
    intervals: ["none", "10", "1000", "10000", "100000", "dynamic"],
    systems: ["pgque", "skip-locked"],
    rate: 800,
    scale: 10,
    tpcbClients: 8,
    repeat: 3,
  });
});

test.each([
  ["none", null, "none"],
  ["dynamic", "dynamic", "dynamic"],
  ["10", 10, "10 ms"],
  ["1500", 1500, "1500 ms"],
  ["100000", 100_000, "100 s"],
])("an interval has a value and a text: %s", (name, interval, text) => {
  expect(intervalOf(name)).toBe(interval);
  expect(intervalText(name)).toBe(text);
});

test.each([
  ["none", 120, 120],
  ["dynamic", 120, 120],
  ["10000", 120, 120],
  ["100000", 120, 250],
  ["100000", 300, 300],
])(
  "a trial of the interval %s lasts as long as was asked for, and two and a half intervals",
  (interval, seconds, expected) => {
    expect(trialSeconds(interval, { seconds })).toBe(expected);
  },
);

test("systems take turns with each interval, and another one comes first in each repeat", () => {
  const plan = retentionPlan({ systems: ["a", "b"], intervals: ["none", "10"], repeat: 2 });
  expect(plan.map(({ system, interval, repeat }) => `${repeat}: ${system} ${interval}`).join(", ")).toBe(
    "1: a none, 1: b none, 1: a 10, 1: b 10, 2: b none, 2: a none, 2: b 10, 2: a 10",
  );
});

const counts = {
  updates: 200,
  hotUpdates: 50,
  indexScans: 400,
  entriesRead: 600,
  heapFetches: 400,
};
const figures = (transactionsPerSecond: number): RetentionFigures => ({
  transactions: 100,
  transactionsPerSecond,
  transactionMs: null,
  tables: { accounts: counts, tellers: counts, branches: { ...counts, indexScans: 0 } },
  buffersPerIndexScan: { accounts: 4, tellers: 3, branches: 2 },
  tpcbDeadTuples: 3,
  queue: { sentPerSecond: 800, finishedPerSecond: 799, latencyMs: null, deadTuples: 0 },
  slot: null,
  serverCpuSeconds: 1,
  tpcbCpuSeconds: 1,
  queueCpuSeconds: 1,
  otherCpuSeconds: 1,
});
const trial = (interval: string, repeat: number, tps: number | null): RetentionTrial => ({
  system: "pgque",
  interval,
  repeat,
  postgres: "17.0",
  figures: tps === null ? null : figures(tps),
  skipped: null,
  error: tps === null ? "no CPU" : null,
});
/** The rows of one table of the report, by what their heads say; a row without figures says why. */
function rowsOf(caption: string, trials: RetentionTrial[]): Record<string, string | undefined>[] {
  const { machine, startedAt } = largeRun([]).results;
  const settings = { ...resolveRetentionSettings({ systems: ["pgque"], intervals: ["none", "10000"] }), server: {} };
  const { table, more } = retentionReport({
    schemaVersion: 2,
    scenario: "retention",
    startedAt,
    machine,
    settings: { ...settings, indicative: false, embedded: true },
    trials,
    interrupted: false,
  });
  const found = [table, more]
    .flat(2)
    .find((part): part is TableBlock => typeof part === "object" && part.kind === "table" && part.caption === caption);
  return (found?.rows ?? []).map((row) =>
    Object.fromEntries(found?.heads.map((head, index) => [head, row.cells[index]]) ?? []),
  );
}

test("TPS is compared with that without a slot of the same repeat, where both have figures", () => {
  const [none, held] = rowsOf("What the load does", [
    trial("none", 1, 1000),
    trial("10000", 1, 500),
    trial("none", 2, null),
    trial("10000", 2, 900),
    trial("none", 3, 100),
    trial("10000", 3, 80),
  ]);
  expect(none).toMatchObject({ "queue beside": "pgque (1 of 3 failed)", TPS: "550 (100–1,000)", "/ none": "" });
  expect(held).toMatchObject({ "queue beside": "pgque", TPS: "500 (80–900)", "/ none": "0.65 (0.50–0.80)" });
});

test("a row has what was published beside what was measured, and a dash where there is nothing to divide by", () => {
  const trials = [trial("none", 1, 1000), trial("10000", 1, 500)];
  expect(rowsOf("What the load does", trials)[1]).toMatchObject({
    "/ none": "0.50",
    published: "0.75",
    "HOT, accounts": "25 %",
  });
  expect(rowsOf("The tables of the load", trials)[1]).toMatchObject({
    "entries read / index scan, accounts": "1.50",
    "entries read / index scan, branches": "–",
  });
});
