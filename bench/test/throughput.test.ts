import { expect, test } from "vitest";
import { BenchOptionError } from "#src/runner/options";
import { dueOf, randomPayloads } from "#src/load/messages";
import type { ThroughputFigures } from "#src/scenarios/throughput/measure";
import {
  resolveThroughputSettings,
  throughputLoads,
  throughputPlan,
  type ThroughputOptions,
  type ThroughputPlan,
} from "#src/scenarios/throughput/plan";
import { publishedFor, throughputRows, type ThroughputResults } from "#src/scenarios/throughput/throughput";

test("one message a transaction by many clients, batches on one connection with each payload", () => {
  expect(throughputLoads(resolveThroughputSettings({}))).toEqual([
    { kind: "send", payloadBytes: 100, perCall: 1, clients: 16, backlog: null },
    { kind: "send", payloadBytes: 100, perCall: 100_000, clients: 1, backlog: null },
    { kind: "send", payloadBytes: 2048, perCall: 32_768, clients: 1, backlog: null },
    { kind: "receive", payloadBytes: 100, perCall: 100_000, clients: 1, backlog: 1_000_000 },
    { kind: "receive", payloadBytes: 2048, perCall: 32_768, clients: 1, backlog: 262_144 },
  ]);
});

test("a backlog is one call at least, and whole calls", () => {
  const backlogs = (options: ThroughputOptions): (number | null)[] =>
    throughputLoads(resolveThroughputSettings({ payloadBytes: [100], ...options })).map(({ backlog }) => backlog);
  expect(backlogs({ batch: 1000, messages: 10 })).toEqual([null, null, 1000]);
  expect(backlogs({ batch: 1000, messages: 2999 })).toEqual([null, null, 2000]);
});

test("the systems of a load follow on each other, and another comes first in the next repeat", () => {
  const settings = resolveThroughputSettings({ systems: ["pgque", "skip-locked"], payloadBytes: [100], repeat: 2 });
  const systems = throughputPlan(settings).map(({ system, repeat }) => `${repeat} ${system}`);
  expect(systems.slice(0, 4)).toEqual(["1 pgque", "1 skip-locked", "1 pgque", "1 skip-locked"]);
  expect(systems.slice(6, 8)).toEqual(["2 skip-locked", "2 pgque"]);
});

test.each([
  [{ kind: "send" as const, payloadBytes: 100, perCall: 1 }, 85_836],
  [{ kind: "send" as const, payloadBytes: 2048, perCall: 32_768 }, 48_899],
  [{ kind: "receive" as const, payloadBytes: 100, perCall: 100_000 }, 2_400_000],
  [{ kind: "receive" as const, payloadBytes: 512, perCall: 100_000 }, undefined],
])("what was published stands beside the same kind of load alone: %j", (load, messagesPerSecond) => {
  expect(publishedFor({ clients: 1, backlog: null, ...load })).toBe(messagesPerSecond);
});

test("payloads have the size asked for, a due time, and nothing in common", () => {
  const payloads = randomPayloads(100, 2048);
  expect(new Set(payloads.map((payload) => payload.length))).toEqual(new Set([2048]));
  expect(new Set(payloads).size).toBe(100);
  expect(JSON.parse(payloads[0] ?? "")).toMatchObject({ t: dueOf(payloads[0]) });
});

test("a ratio is that of two trials of the same repeat and load", () => {
  const settings = resolveThroughputSettings({ systems: ["pgque", "skip-locked"], payloadBytes: [100], repeat: 2 });
  const results = resultsOf(settings, (plan) =>
    plan.system === "pgque" ? (plan.kind === "send" ? 200 : 900) * plan.repeat : 100,
  );
  const ratios = throughputRows(results).map(({ load, system, ratio }) => [
    load.kind,
    load.perCall,
    system,
    ratio?.median,
  ]);
  expect(ratios).toEqual([
    ["send", 1, "pgque", 1],
    ["send", 1, "skip-locked", 3],
    ["send", 100_000, "pgque", 1],
    ["send", 100_000, "skip-locked", 3],
    ["receive", 100_000, "pgque", 1],
    ["receive", 100_000, "skip-locked", 13.5],
  ]);
});

test.each<[ThroughputOptions, string]>([
  [{ batch: 100_001 }, "expected `batch` to be an integer from 2 to 100000, got: 100001"],
  [{ payloadBytes: [31] }, "expected `payload-bytes` to be an integer from 32 to 1048576, got: 31"],
  [{ systems: ["que"] }, "expected `systems` to be some of pgque, skip-locked, skip-locked-delete, pgmq, "],
  [{ synchronousCommit: "local" }, "expected `synchronous-commit` to be on or off, got: local"],
])("throughput, %j is refused in words", (options, message) => {
  expect(() => resolveThroughputSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveThroughputSettings(options)).toThrow(message);
});

/** A run in which every trial has figures, of so many messages a second. */
function resultsOf(
  settings: ReturnType<typeof resolveThroughputSettings>,
  messagesPerSecond: (plan: ThroughputPlan) => number,
): ThroughputResults {
  const figures: Omit<ThroughputFigures, "messagesPerSecond"> = {
    messages: 1,
    seconds: 1,
    serverCpuSecondsPerThousand: null,
    clientCpuSecondsPerThousand: 0,
    walBytesPerMessage: 0,
    deadTuples: 0,
    deadTuplesFrom: "pgstattuple",
    calls: null,
  };
  return {
    schemaVersion: 2,
    scenario: "throughput",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 34, platform: "linux", node: "24.0.0" },
    settings: { ...settings, indicative: false, embedded: true, server: { fsync: "on" } },
    trials: throughputPlan(settings).map((plan) => ({
      ...plan,
      postgres: "17.10",
      figures: { ...figures, messagesPerSecond: messagesPerSecond(plan) },
      skipped: null,
      error: null,
    })),
    interrupted: false,
  };
}
