import { expect, test } from "vitest";
import { degradedSystems, named } from "#src/adapters/registry";
import type { HorizonContext } from "#src/horizons/horizon";
import { horizonNamed } from "#src/horizons/registry";
import { BenchOptionError } from "#src/runner/options";
import {
  degradationReport,
  type DegradationTrial,
  type SampledDegradation,
} from "#src/scenarios/degradation/degradation";
import {
  trialSettings,
  fellBehind,
  LockTimes,
  longTransaction,
  ranAwayAfter,
  resolveDegradationSettings,
  type DegradationFigures,
  type DegradationOptions,
  type DegradationSample,
} from "#src/scenarios/degradation/measure";
import { freshDatabase } from "../../test/support/database.ts";
import { largeRun } from "./support/large-run.ts";

const everyFiveSeconds = (...depths: number[]) => depths.map((depth, index) => ({ seconds: 60 + 5 * index, depth }));

test.each([
  ["no sample", [], null],
  ["a backlog that stays small", everyFiveSeconds(0, 100, 500), null],
  ["a peak that was caught up with", everyFiveSeconds(0, 600, 500), null],
  ["the second time, for good", everyFiveSeconds(0, 600, 400, 501, 700), 15],
  ["from the beginning", everyFiveSeconds(501, 600), 0],
])("at 50/s a backlog of more than 500 has run away, from when on it stays: %s", (_name, samples, expected) => {
  expect(ranAwayAfter(samples, 50)).toBe(expected);
});

test("a consumer that is behind before the transaction is opened makes the trial invalid, one that has stalled for a second does not", () => {
  expect(fellBehind(200, 5, 50)).toBeNull();
  expect(fellBehind(2700, 60, 50)).toBeNull();
  expect(fellBehind(199, 5, 50)).toBe(
    "invalid: 51 of 250 messages were not finished before the transaction was opened: choose a lower rate",
  );
});

test("lock times are those of the clean phase, those of the end, and those since the last sample", () => {
  const times = new LockTimes({ heldSeconds: 100, endSeconds: 10 });
  times.enter("clean", 0);
  times.record(1, 5);
  times.enter("held", 10_000);
  times.record(20, 99_999);
  times.record(30, 100_000);
  expect([times.clean, times.end].map((own) => own.summary()?.max)).toEqual([1, 30]);
  expect(times.sinceSample.take()?.max).toBe(30);
  expect(times.sinceSample.take()).toBeNull();
});

test.each<[DegradationOptions, string]>([
  [{ rate: 0 }, "expected `rate` to be an integer from 1 to 1000000, got: 0"],
  [{ durationSeconds: 0.5 }, "expected `duration` to be an integer from 1 to 86400, got: 0.5"],
  [
    { systems: ["kafka"] },
    "expected `systems` to be some of pgque, pgque-batch, skip-locked, que, que-patched, got: kafka",
  ],
])("degradation, %j is refused in words", (options, message) => {
  expect(() => resolveDegradationSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveDegradationSettings(options)).toThrow(message);
});

test("a trial is one producer and one consumer with one message at a time, and nobody else; pgque-batch takes more", () => {
  const settings = resolveDegradationSettings({});
  expect(trialSettings(settings, named(degradedSystems, "pgque"))).toMatchObject({
    mode: "paced",
    rate: 50,
    producers: 1,
    consumers: 1,
    batch: 1,
    sendBatch: 1,
    bystanders: 0,
    cleanSeconds: 60,
    heldSeconds: 900,
    recoverySecondsMax: 0,
  });
  expect(trialSettings(settings, named(degradedSystems, "pgque-batch")).batch).toBe(100);
});

test("what was published of a system is a row below its own, which stands beside it also when ours failed", () => {
  const [table] = [reportOf([failed("que"), trial("skip-locked")], { systems: ["que", "skip-locked"] }).table].flat();
  expect(table?.rows.map(({ cells: [name], absence }) => [name, absence])).toEqual([
    ["que", "error: deadlock detected"],
    ["que, published", null],
    ["skip-locked", null],
  ]);
  expect(table?.heads.map((head, index) => [head, table.rows[1]?.cells[index]])).toEqual([
    ["system", "que, published"],
    ["backlog, end", "60,000"],
    ["backlog at most", "–"],
    ["ran away after", "15:00"],
    ["lock time, clean", "–"],
    ["lock time, end", "–"],
    ["end / clean", "15.00"],
    ["dead tuples", "100,000"],
    ["finished/s, held", "–"],
    ["CPU/message", "–"],
  ]);
});

test.each([
  [[null], "never"],
  [[60, null], "1:00 in 1 of 2"],
  [[60, 120], "1:30 (1:00–2:00)"],
])("a backlog that ran away after %j s is told as %s", (ran, expected) => {
  const trials = ran.map((ranAwaySeconds, index) => trial("pgque", index + 1, { ranAwaySeconds }));
  const [table] = [reportOf(trials, { systems: ["pgque"] }).table].flat();
  expect(table?.rows[0]?.cells[table.heads.indexOf("ran away after")]).toBe(expected);
});

test("a run that is not an hour at 50/s says that it is not what was published", () => {
  const caveats = (options: DegradationOptions): string =>
    degradationReport({ ...run([], options), interrupted: true }, []).caveats.join(" ");
  expect(caveats({})).toContain("This run: 900 s at 50/s");
  expect(caveats({ durationSeconds: 3600 })).not.toContain("This run");
  expect(caveats({ quick: true })).toMatch(/^Indicative only/);
  expect(caveats({})).toContain("Interrupted: only what was measured until then.");
});

test("charts have all systems over the time since the transaction was opened; what failed is drawn as such, with its reason", () => {
  const { samples } = largeRun(["que"]);
  const held = samples[1]?.samples ?? [];
  const sampled = held
    .filter(({ phase }) => phase !== "recovery")
    .map((sample): DegradationSample => ({ ...sample, lockP50Ms: 1.5, lockP99Ms: null }));
  const { more } = reportOf([], { systems: ["que", "pgque"] }, [
    { trial: failed("que"), samples: sampled },
    { trial: trial("pgque"), samples: [] },
  ]);
  const [group] = more.flatMap((part) => (typeof part === "object" && part.kind === "charts" ? part.data.groups : []));
  expect(group?.span).toEqual({ label: "transaction open", fromSeconds: 0, untilSeconds: 135 });
  expect(group?.trials.map(({ system, invalid }) => [system, invalid])).toEqual([["que", true]]);
  expect(group?.trials[0]?.seconds.slice(0, 7)).toEqual([-30, -25, -20, -15, -10, -5, 0]);
  expect(group?.trials[0]?.values["lockP50Ms"]?.[0]).toBe(1.5);
  expect(group?.notes).toEqual(["que, repeat 1: deadlock detected"]);
});

const figures: DegradationFigures = {
  backlogEnd: 1,
  backlogMax: 2,
  ranAwaySeconds: null,
  lockCleanMs: null,
  lockEndMs: null,
  lockRatio: null,
  deadTuples: 0,
  sentPerSecond: 50,
  finishedPerSecond: 50,
  finishedPerSecondClean: 50,
  serverCpuMicrosPerMessage: null,
  serverCpuMicrosPerMessageClean: null,
  latencyMs: null,
  bytes: 8192,
  oldestTransactionSeconds: 900,
};

function trial(system: string, repeat = 1, own: Partial<DegradationFigures> = {}): DegradationTrial {
  return { system, repeat, postgres: "17.10", figures: { ...figures, ...own }, skipped: null, error: null };
}

const failed = (system: string): DegradationTrial => ({ ...trial(system), figures: null, error: "deadlock detected" });

function run(trials: DegradationTrial[], options: DegradationOptions) {
  const { machine, startedAt } = largeRun([]).results;
  const settings = resolveDegradationSettings(options);
  return {
    schemaVersion: 2 as const,
    scenario: "degradation",
    startedAt,
    machine,
    settings: { ...settings, indicative: settings.quick, embedded: true, server: {} },
    trials,
    interrupted: false,
  };
}

function reportOf(trials: DegradationTrial[], options: DegradationOptions, measured: SampledDegradation[] = []) {
  return degradationReport(run(trials, options), measured);
}

test("the long transaction holds a transaction id, as that of the original, which inserts and then idles", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  const context: HorizonContext = {
    url: database.url,
    admin,
    connect: () => database.connect(),
    systemName: "que",
    heldSeconds: 1,
    sent: () => 0,
  };
  const holder = await horizonNamed(longTransaction).hold(context);
  const { rows } = await admin.query(
    "select state, backend_xid is not null as xid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null",
  );
  expect(rows).toEqual([{ state: "idle in transaction", xid: true }]);
  await holder.release();
});
