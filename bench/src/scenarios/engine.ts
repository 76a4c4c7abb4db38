import { begin } from "../begin.ts";
import { resolveEngineSettings, type EngineOptions, type EngineSettings } from "../engine-settings.ts";
import type { Figure, FigureContext } from "../figures/figure.ts";
import { figureNamed } from "../figures/registry.ts";
import { engineMarkdown } from "../report/engine-md.ts";
import { silentEngine, type EngineProgress, type FigurePlan } from "../report/engine-progress.ts";
import type { EngineResults, FigureResult } from "../report/engine-results.ts";
import { writeFolder } from "../report/folder.ts";
import type { Server } from "../server.ts";

export interface EngineHooks {
  /** Stops the run; what was measured until then is kept. */
  signal?: AbortSignal;
  progress?: EngineProgress;
}

export interface EngineRun {
  results: EngineResults;
  /** Where results.json and report.md are. */
  folder: string;
}

/**
 * Measures every figure as often as asked, and writes the results folder. Throws a BenchOptionError for an option that cannot be
 * used; a figure that fails is a figure with an error, and the run goes on.
 */
export async function runEngine(
  options: EngineOptions,
  { signal, progress = silentEngine }: EngineHooks = {},
): Promise<EngineRun> {
  const settings = resolveEngineSettings(options);
  const stop = signal ?? new AbortController().signal;
  const { folder, server, head } = await begin("engine", settings);
  const results: EngineResults = {
    ...head,
    settings: reportedSettings(settings, server),
    figures: [],
    interrupted: false,
  };
  try {
    const plan = planOf(settings);
    progress.begin({ ...results, plan, postgres: server.version, place: server.place });
    const { synchronousCommit, quick } = settings;
    const note = progress.note.bind(progress);
    for (const planned of plan) {
      if (stop.aborted) break;
      progress.figureStarted(planned);
      const result = await measured(planned, { server, synchronousCommit, quick, signal: stop, note });
      if (result === null) break;
      results.figures.push(result);
      progress.figureDone(result);
    }
  } finally {
    progress.end();
    await server.close();
  }
  results.interrupted = stop.aborted;
  await writeFolder(folder, results, { "report.md": engineMarkdown(results) });
  return { results, folder };
}

/** Figures in turn within each repeat, so that the repeats of one are spread over the run. */
function planOf({ repeat, figures }: EngineSettings): FigurePlan[] {
  return Array.from({ length: repeat }, (_, index) => index + 1).flatMap((repeat) =>
    figures.map((name) => ({ name, repeat })),
  );
}

/** Null when it was stopped. */
async function measured(planned: FigurePlan, context: FigureContext): Promise<FigureResult | null> {
  const figure = figureNamed(planned.name);
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1000;
  const identity = { ...planned, postgres: context.server.version, target: targetsOf(figure) };
  try {
    const values = await figure.measure(context, sizesOf(figure, context.quick));
    return { ...identity, values, met: allMet(figure, values), seconds: seconds(), error: null };
  } catch (error) {
    if (context.signal.aborted) return null;
    const reason = error instanceof Error ? error.message : String(error);
    return { ...identity, values: {}, met: null, seconds: seconds(), error: reason };
  }
}

const sizesOf = ({ sizes }: Figure, quick: boolean): Record<string, number> => sizes[quick ? "quick" : "full"];

function targetsOf({ values }: Figure): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, { target }]) => (target === undefined ? [] : [[name, target.text]])),
  );
}

function allMet(figure: Figure, values: Record<string, number | null>): boolean | null {
  const met = Object.entries(figure.values).flatMap(([name, { target }]) => {
    const value = values[name] ?? null;
    return target === undefined ? [] : [value === null ? null : target.met(value)];
  });
  if (met.some((one) => one === false)) return false;
  return met.some((one) => one === null) ? null : true;
}

function reportedSettings(settings: EngineSettings, server: Server): EngineResults["settings"] {
  const { databaseUrl: _secret, resultsFolder: _folder, ...reported } = settings;
  return {
    ...reported,
    indicative: settings.quick,
    sizes: Object.fromEntries(settings.figures.map((name) => [name, sizesOf(figureNamed(name), settings.quick)])),
    server: server.settings,
    embedded: server.embedded,
  };
}
