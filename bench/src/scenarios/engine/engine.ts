import { reportedSettings } from "../../report/results.ts";
import { reasonOf } from "../../runner/failure.ts";
import { settingsOf } from "../../runner/options.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario, StepContext } from "../../runner/scenario.ts";
import { repeatText } from "../../runner/trials.ts";
import type { Microbenchmark } from "./microbenchmark.ts";
import { microbenchmarkNamed } from "./registry.ts";
import {
  engineOptions,
  type EngineOptions,
  type EngineResults,
  type EngineSettings,
  type MicrobenchmarkPlan,
  type MicrobenchmarkResult,
} from "./results.ts";
import { engineDocument, engineTerminalReport, verdictOf } from "./report.ts";

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveEngineSettings(given: EngineOptions): EngineSettings {
  const settings = settingsOf(engineOptions, given);
  return { ...settings, synchronousCommit: "on", autovacuumNaptimeSeconds: settings.quick ? 1 : 10 };
}

/** What one is taken to last until the first ones have shown it. */
const secondsExpected = { full: 120, quick: 20 };

const engine: Scenario<EngineOptions, EngineSettings, MicrobenchmarkPlan, MicrobenchmarkResult, EngineResults> = {
  name: "engine",
  resolve: resolveEngineSettings,
  results: (head, settings, server) => ({
    ...head,
    settings: {
      ...reportedSettings(settings, settings.quick, server),
      sizes: Object.fromEntries(
        settings.microbenchmarks.map((name) => [name, sizesOf(microbenchmarkNamed(name), settings.quick)]),
      ),
    },
    microbenchmarks: [],
    interrupted: false,
  }),
  // in turn within each repeat, so that the repeats of one are spread over the run
  plan: ({ repeat, microbenchmarks }) =>
    Array.from({ length: repeat }, (_, n) => microbenchmarks.map((name) => ({ name, repeat: n + 1 }))).flat(),
  measure,
  keep: ({ microbenchmarks }, measured) => void microbenchmarks.push(measured),
  document: engineDocument,
  report: engineTerminalReport,
  failed: ({ microbenchmarks }) => microbenchmarks.some(({ error }) => error !== null),
  headline: ({ settings }) => `${settings.microbenchmarks.join(", ")}, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ quick }) => secondsExpected[quick ? "quick" : "full"],
  stepText: ({ name, repeat }) => `${name}${repeatText(repeat)}`,
  measuredText: ({ name, values, error, seconds }) =>
    error === null ? `${verdictOf(microbenchmarkNamed(name), values)}, ${seconds.toFixed(0)} s` : `error: ${error}`,
};

/** Measures every microbenchmark of the engine, as often as asked. See runScenario. */
export function runEngine(given: EngineOptions, hooks: RunHooks = {}): Promise<Run<EngineResults>> {
  return runScenario(engine, given, hooks);
}

const sizesOf = ({ sizes }: Microbenchmark, quick: boolean): Record<string, number> => sizes[quick ? "quick" : "full"];

async function measure(
  plan: MicrobenchmarkPlan,
  { server, settings, signal, note }: StepContext<EngineSettings>,
): Promise<MicrobenchmarkResult> {
  const { synchronousCommit, quick } = settings;
  const microbenchmark = microbenchmarkNamed(plan.name);
  const target = Object.fromEntries(
    Object.entries(microbenchmark.values).flatMap(([key, value]) => (value.target ? [[key, value.target.text]] : [])),
  );
  const startMs = performance.now();
  const result = (found: Pick<MicrobenchmarkResult, "values" | "met" | "error">): MicrobenchmarkResult => {
    return { ...plan, postgres: server.version, target, ...found, seconds: (performance.now() - startMs) / 1000 };
  };
  try {
    const context = { server, synchronousCommit, quick, signal, note };
    const values = await microbenchmark.measure(context, sizesOf(microbenchmark, quick));
    const verdict = verdictOf(microbenchmark, values);
    return result({ values, met: verdict === "not measured" ? null : verdict !== "not met", error: null });
  } catch (error) {
    signal.throwIfAborted();
    return result({ values: {}, met: null, error: reasonOf(error) });
  }
}
