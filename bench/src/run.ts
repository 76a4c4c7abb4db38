import { begin } from "./begin.ts";
import { horizonNamed, systemNamed } from "./registry.ts";
import { samplesCsv } from "./report/csv.ts";
import { writeFolder } from "./report/folder.ts";
import { markdownReport } from "./report/md.ts";
import { silent, type CellPlan, type Progress } from "./report/progress.ts";
import { failedCell, type CellResult, type CellSamples, type Results } from "./report/results.ts";
import { evidenceOf, figures, invalidity } from "./scenarios/verdict.ts";
import { measureXmin } from "./scenarios/xmin.ts";
import type { Server } from "./server.ts";
import { resolveSettings, type BenchOptions, type Settings } from "./settings.ts";

/** Cells shorter than this say which way it goes, not how far. */
const conclusiveSeconds = 60;

export interface RunHooks {
  /** Stops the run; what was measured until then is kept. */
  signal?: AbortSignal;
  progress?: Progress;
}

export interface Run {
  results: Results;
  /** Where results.json, samples.csv and report.md are. */
  folder: string;
}

/**
 * Runs every system under every horizon, as often as asked, and writes the results folder. Throws a BenchOptionError for an
 * option that cannot be used; a cell that fails is a cell with an error, and the run goes on.
 */
export async function runBench(options: BenchOptions, { signal, progress = silent }: RunHooks = {}): Promise<Run> {
  const settings = resolveSettings(options);
  const stop = signal ?? new AbortController().signal;
  const { folder, server, head } = await begin("xmin", settings);
  const results: Results = {
    ...head,
    settings: reportedSettings(settings, server),
    cells: [],
    interrupted: false,
  };
  const samples: CellSamples[] = [];
  try {
    const cells = plan(settings);
    progress.begin({ ...results, cells, postgres: server.version, place: server.place });
    for (const cell of cells) {
      if (stop.aborted) break;
      progress.cellStarted(cell);
      const result = await runCell(cell, server, settings, progress, samples, stop);
      if (result === null) break;
      results.cells.push(result);
      progress.cellDone(result);
    }
  } finally {
    progress.end();
    await server.close();
  }
  results.interrupted = stop.aborted;
  await writeFolder(folder, results, { "samples.csv": samplesCsv(samples), "report.md": markdownReport(results) });
  return { results, folder };
}

/** Systems in turn within each repeat, so that a machine that gets slower gets slower for all. */
function plan({ repeat, horizons, systems }: Settings): CellPlan[] {
  return Array.from({ length: repeat }, (_, index) => index + 1).flatMap((repeat) =>
    horizons.flatMap((horizon) => systems.map((system) => ({ system, horizon, repeat }))),
  );
}

/** Null when it was stopped. */
async function runCell(
  cell: CellPlan,
  server: Server,
  settings: Settings,
  progress: Progress,
  samples: CellSamples[],
  signal: AbortSignal,
): Promise<CellResult | null> {
  const identity = { ...cell, postgres: server.version };
  const hooks = {
    onPhase: (phase: string) => progress.phaseStarted(phase),
    onSample: progress.sampled.bind(progress),
  };
  try {
    const system = systemNamed(cell.system);
    const measured = await measureXmin(server, system, horizonNamed(cell.horizon), settings, hooks, signal);
    samples.push({ ...cell, samples: measured.bench.sampler.samples });
    const reason = invalidity(evidenceOf(measured, settings));
    return reason === null ? { ...identity, ...figures(measured) } : failedCell(identity, reason);
  } catch (error) {
    if (signal.aborted) return null;
    return failedCell(identity, error instanceof Error ? error.message : String(error));
  }
}

function reportedSettings(settings: Settings, server: Server): Results["settings"] {
  const { databaseUrl: _secret, resultsFolder: _folder, ...reported } = settings;
  return {
    ...reported,
    indicative: settings.heldSeconds < conclusiveSeconds,
    server: server.settings,
    embedded: server.embedded,
  };
}
