import type { Sample } from "#src/measure/sampler";
import { trialWithout, type TrialSamples, type Results } from "#src/scenarios/xmin/results";
import { resolveSettings } from "#src/scenarios/xmin/settings";

/** A run of so many systems under two horizons, three times each, of 36 samples a trial. */
export function largeRun(systems: string[]): { results: Results; samples: TrialSamples[] } {
  const horizons = ["none", "repeatable-read"];
  const trials = [1, 2, 3].flatMap((repeat) =>
    horizons.flatMap((horizon) => systems.map((system) => ({ system, horizon, repeat }))),
  );
  const samples = trials.map((trial) => ({
    ...trial,
    postgres: "17.10",
    samples: Array.from({ length: 36 }, (_, index) =>
      sampleOf(index, systems.indexOf(trial.system) + trial.repeat / 10, trial.horizon !== "none"),
    ),
  }));
  const results: Results = {
    schemaVersion: 2,
    scenario: "xmin",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 34, platform: "linux", node: "24.0.0" },
    settings: { ...resolveSettings({}), systems, horizons, indicative: false, embedded: true, server: { fsync: "on" } },
    trials: trials.map((trial) => ({
      ...trialWithout({ ...trial, postgres: "17.10" }, { skipped: null, error: null }),
      dequeuedPerSecond: 800 - systems.indexOf(trial.system) * trial.repeat,
      deadTuples: systems.indexOf(trial.system) * 1000,
      bytes: 2 ** 24,
      error: null,
    })),
    interrupted: false,
  };
  return { results, samples };
}

/** Every five seconds; the clean phase has six of them, the recovery the last two. `trouble` is what a system does not take well. */
function sampleOf(index: number, trouble: number, held: boolean): Sample {
  const phase = index < 6 ? "clean" : index < 34 ? "held" : "recovery";
  const suffered = held ? trouble ** 4 * Math.max(0, index - 6) : 0;
  return {
    phase,
    seconds: 5 * index,
    enqueued: 4000 * Math.min(index, 33),
    dequeued: Math.max(0, 4000 * Math.min(index, 34) - suffered),
    depth: Math.round(suffered + 4 + 3 * Math.sin(index * trouble)),
    liveTuples: 4000 * index,
    deadTuples: Math.round(suffered * 100),
    bytes: 2 ** 20 * (1 + trouble * (index % 8)) + suffered * 2000,
    indexBytes: 2 ** 18,
    bytesReclaimed: 0,
    rotations: null,
    autovacuums: 0,
    xminAge: 0,
    transactionIds: index,
    walBytes: index,
    buffersHit: 0,
    buffersRead: 0,
    lockWaits: 0,
    oldestTransactionSeconds: 0,
    latencyP50Ms: 2 + trouble,
    latencyP99Ms: 5 + suffered,
    bystanderP50Ms: phase === "recovery" ? null : 0.9 + 0.1 * Math.sin(index + trouble),
    bystanderP99Ms: phase === "recovery" ? null : 3 + Math.abs(Math.sin(index * trouble)) + suffered / 400,
  };
}
