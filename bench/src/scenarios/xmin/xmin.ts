import { systemNamed } from "../../adapters/registry.ts";
import { horizonNamed, serverSettingsFor } from "../../horizons/registry.ts";
import type { Sample } from "../../measure/sampler.ts";
import { readBaseline } from "./baseline.ts";
import { samplesCsv } from "../../report/files.ts";
import { bytes, whole } from "../../report/format.ts";
import { reportedSettings } from "../../report/results.ts";
import { outcomeText, repeatText, someFailed, rotate } from "../../runner/trials.ts";
import { whyNot } from "../../runner/failure.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario, StepContext } from "../../runner/scenario.ts";
import { measureXmin, type TrialHooks } from "./trial.ts";
import { xminReporting } from "./report.ts";
import {
  trialWithout,
  evidenceOf,
  figures,
  hasFigures,
  invalidity,
  type TrialPlan,
  type TrialResult,
  type TrialSamples,
  type Results,
} from "./results.ts";
import { trialSecondsExpected, resolveSettings, type BenchOptions, type Settings } from "./settings.ts";

/** Trials shorter than this say which way it goes, not how far. */
const conclusiveSeconds = 60;

interface MeasuredTrial {
  trial: TrialResult;
  /** Null when it failed. */
  samples: TrialSamples | null;
}

const samplesOf = (measured: MeasuredTrial[]): TrialSamples[] => measured.flatMap(({ samples }) => samples ?? []);

const xmin: Scenario<BenchOptions, Settings, TrialPlan, MeasuredTrial, Results> = {
  name: "xmin",
  resolve: resolveSettings,
  baseline: async (settings) =>
    settings.baselineFile === null ? null : readBaseline(settings.baselineFile, "xmin", settings),
  serverSettings: ({ horizons }) => serverSettingsFor(horizons),
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.heldSeconds < conclusiveSeconds, server),
    trials: [],
    interrupted: false,
  }),
  plan,
  measure: runTrial,
  keep: ({ trials }, { trial }) => void trials.push(trial),
  ...xminReporting,
  document: (results, measured, baseline) => xminReporting.document(results, samplesOf(measured), baseline),
  files: (measured) => ({ "samples.csv": samplesCsv(samplesOf(measured)) }),
  failed: someFailed,
  headline: ({ settings }, trials) =>
    `${trials.length} trials of about ${trialSecondsExpected(settings)} s, ` +
    `${settings.mode === "saturated" ? "saturated" : `${settings.rate} messages/s`},\n` +
    `${settings.producers} producers, ${settings.consumers} consumers, ${settings.bystanders} bystanders`,
  stepSeconds: trialSecondsExpected,
  stepText: ({ system, horizon, repeat }) => `${system}, ${horizon}${repeatText(repeat)}`,
  measuredText: ({ trial }) => {
    if (!hasFigures(trial)) return outcomeText({ ...trial, skipped: trial.skipped ?? null, figures: null }, String);
    const { dequeuedPerSecond, deadTuples, bytes: onDisk } = trial;
    const stored =
      deadTuples === null || onDisk === null ? "" : `, ${whole(deadTuples)} dead tuples, ${bytes(onDisk)} on disk`;
    return `${whole(dequeuedPerSecond ?? 0)}/s finished${stored}`;
  },
};

/** Runs every system under every horizon, as often as asked. See runScenario. */
export function runBench(options: BenchOptions, hooks: RunHooks = {}): Promise<Run<Results>> {
  return runScenario(xmin, options, hooks);
}

/** Systems in turn within each repeat, so that a machine that gets slower gets slower for all; who comes first changes from repeat to repeat. */
function plan({ repeat, horizons, systems }: Settings): TrialPlan[] {
  return Array.from({ length: repeat }, (_, n) =>
    rotate(horizons, n).flatMap((horizon) => rotate(systems, n).map((system) => ({ system, horizon, repeat: n + 1 }))),
  ).flat();
}

async function runTrial(
  trial: TrialPlan,
  { server, settings, note, signal }: StepContext<Settings>,
): Promise<MeasuredTrial> {
  const identity = { ...trial, postgres: server.version };
  try {
    const system = systemNamed(trial.system);
    note("set-up");
    const measured = await measureXmin(server, system, horizonNamed(trial.horizon), settings, notes(note), signal);
    const samples = { ...identity, samples: measured.bench.sampler.samples };
    const reason = invalidity(evidenceOf(measured, settings));
    return {
      trial:
        reason === null
          ? { ...identity, ...figures(measured) }
          : trialWithout(identity, { skipped: null, error: reason }),
      samples,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { trial: trialWithout(identity, whyNot(error)), samples: null };
  }
}

/** Says at each sample what has happened since the one before it. */
function notes(note: (text: string) => void): TrialHooks {
  let phase = "";
  let before: Sample | null = null;
  return {
    onPhase(name) {
      phase = name;
      before = null;
      note(name);
    },
    onSample(sample) {
      const seconds = before === null ? 0 : sample.seconds - before.seconds;
      const rate =
        before === null || seconds < 0.2 ? "" : `${whole((sample.dequeued - before.dequeued) / seconds)}/s, `;
      if (before === null || seconds >= 0.2) before = sample;
      note(`${phase}, ${rate}${whole(sample.deadTuples)} dead, backlog ${whole(sample.depth)}`);
    },
  };
}
