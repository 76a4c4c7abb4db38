import { reasonOf } from "../scenario/not-run.ts";
import { resolveEngineSettings, type EngineOptions, type EngineSettings } from "./engine-settings.ts";
import type { Figure } from "./figures/figure.ts";
import { figureNamed } from "./figures/registry.ts";
import { engineDocument } from "./engine-document.ts";
import type { EngineResults, FigurePlan, FigureResult } from "./engine-results.ts";
import { engineTerminalReport } from "./engine-table.ts";
import { reportedSettings } from "../report/reported-settings.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario, StepContext } from "../scenario/scenario.ts";
import { repeatText } from "../scenario/texts.ts";

/** What a figure is taken to last until the first ones have shown it. */
const secondsExpected = { full: 120, quick: 20 };

const engine: Scenario<EngineOptions, EngineSettings, FigurePlan, FigureResult, EngineResults> = {
  name: "engine",
  resolve: resolveEngineSettings,
  results: (head, settings, server) => ({
    ...head,
    settings: { ...reportedSettings(settings, settings.quick, server), sizes: sizesOfAll(settings) },
    figures: [],
    interrupted: false,
  }),
  plan: planOf,
  measure: measured,
  keep: ({ figures }, figure) => void figures.push(figure),
  document: engineDocument,
  report: engineTerminalReport,
  failed: ({ figures }) => figures.some(({ error }) => error !== null),
  headline: ({ settings }) => `${settings.figures.join(", ")}, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ quick }) => secondsExpected[quick ? "quick" : "full"],
  stepText: ({ name, repeat }) => `${name}${repeatText(repeat)}`,
  measuredText: outcome,
};

/** Measures every figure of the engine, as often as asked. See runScenario. */
export function runEngine(options: EngineOptions, hooks: RunHooks = {}): Promise<Run<EngineResults>> {
  return runScenario(engine, options, hooks);
}

/** Figures in turn within each repeat, so that the repeats of one are spread over the run. */
function planOf({ repeat, figures }: EngineSettings): FigurePlan[] {
  return Array.from({ length: repeat }, (_, index) => index + 1).flatMap((repeat) =>
    figures.map((name) => ({ name, repeat })),
  );
}

async function measured(
  planned: FigurePlan,
  { server, settings, signal, note }: StepContext<EngineSettings>,
): Promise<FigureResult> {
  const { synchronousCommit, quick } = settings;
  const figure = figureNamed(planned.name);
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1000;
  const identity = { ...planned, postgres: server.version, target: targetsOf(figure) };
  try {
    const values = await figure.measure({ server, synchronousCommit, quick, signal, note }, sizesOf(figure, quick));
    return { ...identity, values, met: allMet(figure, values), seconds: seconds(), error: null };
  } catch (error) {
    signal.throwIfAborted();
    const reason = reasonOf(error);
    return { ...identity, values: {}, met: null, seconds: seconds(), error: reason };
  }
}

function outcome({ error, met, target, seconds }: FigureResult): string {
  if (error !== null) return `error: ${error}`;
  if (Object.keys(target).length === 0) return `measured, ${seconds.toFixed(0)} s`;
  const verdict = met === null ? "not all measured" : met ? "met" : "not met";
  return `${verdict}, ${seconds.toFixed(0)} s`;
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

const sizesOfAll = ({ figures, quick }: EngineSettings): EngineResults["settings"]["sizes"] =>
  Object.fromEntries(figures.map((name) => [name, sizesOf(figureNamed(name), quick)]));
