import { systemNamed } from "../../adapters/registry.ts";
import { horizonNamed, serverSettingsFor } from "../../horizons/registry.ts";
import type { Sample } from "../../measure/sampler.ts";
import { readBaseline } from "./baseline.ts";
import { samplesCsv } from "../../report/files.ts";
import { bytes, whole } from "../../report/format.ts";
import { reportedSettings } from "../../report/results.ts";
import { outcomeText, repeatText, someFailed, turned } from "../../runner/cells.ts";
import { whyNot } from "../../runner/failure.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario, StepContext } from "../../runner/scenario.ts";
import { measureXmin, type CellHooks } from "./cell.ts";
import { xminReporting } from "./report.ts";
import {
  cellWithout,
  evidenceOf,
  figures,
  hasFigures,
  invalidity,
  type CellPlan,
  type CellResult,
  type CellSamples,
  type Results,
} from "./results.ts";
import { cellSecondsExpected, resolveSettings, type BenchOptions, type Settings } from "./settings.ts";

/** Cells shorter than this say which way it goes, not how far. */
const conclusiveSeconds = 60;

interface MeasuredCell {
  cell: CellResult;
  /** Null when it failed. */
  samples: CellSamples | null;
}

const samplesOf = (measured: MeasuredCell[]): CellSamples[] => measured.flatMap(({ samples }) => samples ?? []);

const xmin: Scenario<BenchOptions, Settings, CellPlan, MeasuredCell, Results> = {
  name: "xmin",
  resolve: resolveSettings,
  baseline: async (settings) =>
    settings.baselineFile === null ? null : readBaseline(settings.baselineFile, "xmin", settings),
  serverSettings: ({ horizons }) => serverSettingsFor(horizons),
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.heldSeconds < conclusiveSeconds, server),
    cells: [],
    interrupted: false,
  }),
  plan,
  measure: runCell,
  keep: ({ cells }, { cell }) => void cells.push(cell),
  ...xminReporting,
  document: (results, measured, baseline) => xminReporting.document(results, samplesOf(measured), baseline),
  files: (measured) => ({ "samples.csv": samplesCsv(samplesOf(measured)) }),
  failed: someFailed,
  headline: ({ settings }, cells) =>
    `${cells.length} cells of about ${cellSecondsExpected(settings)} s, ` +
    `${settings.mode === "saturated" ? "saturated" : `${settings.rate} messages/s`},\n` +
    `${settings.producers} producers, ${settings.consumers} consumers, ${settings.bystanders} bystanders`,
  stepSeconds: cellSecondsExpected,
  stepText: ({ system, horizon, repeat }) => `${system}, ${horizon}${repeatText(repeat)}`,
  measuredText: ({ cell }) => {
    if (!hasFigures(cell)) return outcomeText({ ...cell, notRun: cell.notRun ?? null, figures: null }, String);
    const { dequeuedPerSecond, deadTuples, bytes: onDisk } = cell;
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
function plan({ repeat, horizons, systems }: Settings): CellPlan[] {
  return Array.from({ length: repeat }, (_, n) =>
    turned(horizons, n).flatMap((horizon) => turned(systems, n).map((system) => ({ system, horizon, repeat: n + 1 }))),
  ).flat();
}

async function runCell(
  cell: CellPlan,
  { server, settings, note, signal }: StepContext<Settings>,
): Promise<MeasuredCell> {
  const identity = { ...cell, postgres: server.version };
  try {
    const system = systemNamed(cell.system);
    note("set-up");
    const measured = await measureXmin(server, system, horizonNamed(cell.horizon), settings, notes(note), signal);
    const samples = { ...identity, samples: measured.bench.sampler.samples };
    const reason = invalidity(evidenceOf(measured, settings));
    return {
      cell:
        reason === null
          ? { ...identity, ...figures(measured) }
          : cellWithout(identity, { notRun: null, error: reason }),
      samples,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { cell: cellWithout(identity, whyNot(error)), samples: null };
  }
}

/** Says at each sample what has happened since the one before it. */
function notes(note: (text: string) => void): CellHooks {
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
