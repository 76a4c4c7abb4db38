import { expect, test } from "vitest";
import { noise } from "#src/report/scenario-report";
import { BenchOptionError } from "#src/runner/options";
import { bytesPerHourMax, driftsOf, type Drift, type DriftName, type SoakSample } from "#src/scenarios/soak/drift";
import { resolveSoakSettings, soakInvalidity, type SoakEvidence, type SoakOptions } from "#src/scenarios/soak/measure";

const quiet: Omit<SoakSample, "seconds"> = {
  phase: "soak",
  enqueued: 0,
  dequeued: 0,
  depth: 0,
  liveTuples: 0,
  deadTuples: 0,
  bytes: 0,
  indexBytes: 0,
  bytesReclaimed: 0,
  rotations: 0,
  autovacuums: 0,
  xminAge: 0,
  oldestTransactionSeconds: 0,
  transactionIds: 0,
  walBytes: 0,
  buffersHit: 0,
  buffersRead: 0,
  lockWaits: 0,
  bystanderP50Ms: null,
  bystanderP99Ms: null,
  latencyP50Ms: 5,
  latencyP99Ms: 10,
  clientRssBytes: 100_000_000,
  clientHeapBytes: 20_000_000,
  serverMemoryBytes: 80_000_000,
};

/** A sample every five seconds of half an hour, or of as long as is said. */
function samplesOf(change: (seconds: number, index: number) => Partial<SoakSample>, seconds = 1800): SoakSample[] {
  return Array.from({ length: seconds / 5 }, (_, index) => ({
    ...quiet,
    seconds: index * 5,
    ...change(index * 5, index),
  }));
}

const inPostgres = { inPostgres: true, rate: 800 };
const driftIn = (samples: SoakSample[], name: DriftName): Drift | undefined =>
  driftsOf(samples, inPostgres).find(({ measure }) => measure === name);

/** As a rotation every 40 seconds makes them, up to a height, sampled wherever a sample comes to be. */
const saw = (heightOf: (seconds: number) => number) => (seconds: number) => ({
  rotations: Math.floor(seconds / 37),
  bytes: 8_000_000 + heightOf(seconds) * ((seconds % 37) / 37),
});

test("what stays where it is is flat, in every measure", () => {
  const verdicts = driftsOf(samplesOf(saw(() => 8_000_000)), inPostgres).map(({ measure, verdict }) => [
    measure,
    verdict,
  ]);
  expect(Object.fromEntries(verdicts)).toEqual({
    deadTuples: "flat",
    bytes: "flat",
    latencyP99Ms: "flat",
    clientRssBytes: "flat",
    clientHeapBytes: "flat",
    serverMemoryBytes: "flat",
  });
});

test.each<[DriftName, (seconds: number) => Partial<SoakSample>, number]>([
  ["deadTuples", (seconds) => ({ deadTuples: 2 * seconds }), 7200],
  ["bytes", (seconds) => ({ ...saw(() => 8_000_000)(seconds), bytes: 8_000_000 + 5000 * seconds }), 18_000_000],
  ["latencyP99Ms", (seconds) => ({ latencyP99Ms: 10 + seconds / 100 }), 36],
  ["clientRssBytes", (seconds) => ({ clientRssBytes: 100_000_000 + 10_000 * seconds }), 36_000_000],
  ["clientHeapBytes", (seconds) => ({ clientHeapBytes: seconds % 30 === 0 ? 10_000 * seconds : null }), 36_000_000],
  ["serverMemoryBytes", (seconds) => ({ serverMemoryBytes: 80_000_000 + 10_000 * seconds }), 36_000_000],
])("%s that rises is seen to grow, by so much an hour", (name, change, perHour) => {
  const drift = driftIn(samplesOf(change), name);
  expect(drift?.verdict).toBe("grows");
  expect((drift?.perHour?.median ?? 0) / perHour).toBeCloseTo(1, 1);
});

test("size on disk is judged by the peaks of whole rotations: the tooth that a run ends in says nothing", () => {
  for (const seconds of [1795, 1800, 1805, 1810, 1815, 1820]) {
    expect(
      driftIn(
        samplesOf(
          saw(() => 1_000_000),
          seconds,
        ),
        "bytes",
      )?.verdict,
    ).toBe("flat");
  }
  const rising = driftIn(samplesOf(saw((seconds) => 8_000_000 + 5000 * seconds)), "bytes");
  expect(rising?.verdict).toBe("grows");
  expect(rising?.points).toBeGreaterThan(30);
});

test("with too few rotations it is too short to say, and the median is that of all samples", () => {
  const drift = driftIn(
    samplesOf(
      saw(() => 8_000_000),
      60,
    ),
    "bytes",
  );
  expect(drift).toMatchObject({ perHour: null, verdict: "too short to say", points: 0 });
  expect(drift?.typical).toBeGreaterThan(8_000_000);
});

test("nothing is said to grow before a quarter of an hour is judged", () => {
  const young = (seconds: number) => ({ clientRssBytes: 100_000_000 + 100_000 * seconds });
  expect(driftIn(samplesOf(young, 600), "clientRssBytes")?.verdict).toBe("too short to say");
  expect(driftIn(samplesOf(young, 1800), "clientRssBytes")?.verdict).toBe("grows");
});

test("growth below the limit is flat, and around it too short to say", () => {
  const rising = (share: number, noise: number) =>
    driftIn(
      samplesOf((seconds, index) => ({
        serverMemoryBytes: 80_000_000 + (seconds / 3600) * share * bytesPerHourMax + noise * ((index * 7919) % 101),
      })),
      "serverMemoryBytes",
    )?.verdict;
  expect(rising(0.5, 100)).toBe("flat");
  expect(rising(1, 100_000)).toBe("too short to say");
  expect(rising(2, 100)).toBe("grows");
});

test("a day of samples is judged by as few points as an hour of them", () => {
  const drift = driftIn(
    samplesOf(
      saw(() => 8_000_000),
      86_400,
    ),
    "bytes",
  );
  expect(drift?.verdict).toBe("flat");
  expect(drift?.points).toBeLessThanOrEqual(60);
});

test("what is not sampled, or not kept in PostgreSQL, is not judged", () => {
  const unseen = samplesOf(() => ({ serverMemoryBytes: null }));
  const measures = driftsOf(unseen, { inPostgres: false, rate: 800 }).map(({ measure }) => measure);
  expect(measures).toEqual(["latencyP99Ms", "clientRssBytes", "clientHeapBytes"]);
});

const kept: SoakEvidence = {
  rate: 100,
  seconds: 60,
  enqueued: 6000,
  dequeued: 6000,
  transactionIds: 6000,
  lateMsP99: 2,
  depthAtEnd: 3,
  mismatch: null,
};

test.each<[Partial<SoakEvidence>, string | null]>([
  [{}, null],
  [{ lateMsP99: 51 }, "invalid: the harness was 51 ms late in 1 % of its sends: too little CPU left for it"],
  [
    { enqueued: 5900, dequeued: 5900 },
    "invalid: expected 100 messages/s to be sent, got: 98/s, because sends took too long: give a lower rate, or more producers",
  ],
  [{ depthAtEnd: 900 }, "invalid: the consumers fell behind: 900 messages, 9 s of sending, were waiting at the end"],
  [{ mismatch: "1 of 6000 messages were lost" }, "invalid: 1 of 6000 messages were lost"],
  [{ dequeued: 6001 }, "invalid: 6001 messages finished, but only 6000 sent"],
])("a soak with %j counts, or says why it does not", (changed, reason) => {
  expect(soakInvalidity({ ...kept, ...changed })).toBe(reason);
});

test("of other programs that used the machine the reader is told, by the worst trial", () => {
  const quietTrial = { name: "pgque, none", seconds: 100, otherCpuSeconds: 15 };
  expect(noise([quietTrial, { ...quietTrial, otherCpuSeconds: null }], 2)).toEqual([]);
  expect(noise([quietTrial, { ...quietTrial, name: "que, none", otherCpuSeconds: 60 }], 2)).toEqual([
    "Noise: other programs used up to 30 % of the machine's CPU during a trial (que, none).",
  ]);
});

test("a soak lasts half an hour at 800 messages/s, and Pgque rotates often enough to be judged by whole rotations", () => {
  expect(resolveSoakSettings({})).toMatchObject({
    seconds: 1800,
    rate: 800,
    systems: ["pgque"],
    horizons: ["none"],
    rotation: { bytes: 8 * 2 ** 20 },
  });
  expect(resolveSoakSettings({ durationSeconds: 28_800 }).rotation).toBeNull();
  expect(resolveSoakSettings({ quick: true }).seconds).toBe(30);
});

test.each<[SoakOptions, string]>([
  [{ rate: 0 }, "expected `rate` to be an integer from 1 to 1000000, got: 0"],
  [{ horizons: ["eternity"] }, "expected `horizons` to be some of none, "],
])("soak, %j is refused in words", (options, message) => {
  expect(() => resolveSoakSettings(options)).toThrow(BenchOptionError);
  expect(() => resolveSoakSettings(options)).toThrow(message);
});
