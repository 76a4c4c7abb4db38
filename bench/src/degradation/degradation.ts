import { samplesCsv } from "../report/files.ts";
import { ms, whole, wrap } from "../report/format.ts";
import { terminalRows } from "../report/table.ts";
import { emptyResults, someFailed, systemsInTurn, outcomeText, repeatText } from "../runner/cells.ts";
import { runScenario, type Run, type RunHooks } from "../runner/run.ts";
import type { Scenario } from "../runner/scenario.ts";
import { measureDegradation, type MeasuredDegradation } from "./degradation-cell.ts";
import { mainColumns, textColumns } from "./degradation-columns.ts";
import { degradationDocument } from "./degradation-document.ts";
import type { DegradationPlan, DegradationResults, DegradationSamples } from "./degradation-results.ts";
import {
  resolveDegradationSettings,
  type DegradationOptions,
  type DegradationSettings,
} from "./degradation-settings.ts";
import { degradationCaveats, degradationRows } from "./degradation-summary.ts";

/** A database, and the pages that are read to count what is dead. */
const overheadSeconds = 3;

const samplesOf = (measured: MeasuredDegradation[]): DegradationSamples[] => measured.map(({ samples }) => samples);

const degradation: Scenario<
  DegradationOptions,
  DegradationSettings,
  DegradationPlan,
  MeasuredDegradation,
  DegradationResults
> = {
  name: "degradation",
  resolve: resolveDegradationSettings,
  results: emptyResults,
  plan: systemsInTurn,
  measure: measureDegradation,
  keep: ({ cells }, { cell }) => void cells.push(cell),
  document: (results, measured) => degradationDocument(results, samplesOf(measured)),
  files: (measured) => ({ "samples.csv": samplesCsv(samplesOf(measured)) }),
  report: (results) =>
    [
      terminalRows(mainColumns, degradationRows(results), textColumns),
      wrap(degradationCaveats(results).join(" ")),
    ].join("\n\n"),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.rate} messages/s, ${settings.consumers} consumer(s),\n` +
    `${settings.cleanSeconds} s clean, then ${settings.heldSeconds} s beside a transaction that nobody ends, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ cleanSeconds, heldSeconds }) => cleanSeconds + heldSeconds + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: ({ cell }) =>
    outcomeText(
      cell,
      ({ backlogEnd, lockEndMs, deadTuples }) =>
        `backlog ${whole(backlogEnd)}, ${lockEndMs === null ? "nothing locked" : `${ms(lockEndMs.p50)} to lock one`}, ${whole(deadTuples)} dead tuples`,
    ),
};

/** Has a producer and a consumer go on at a steady rate beside a transaction that nobody ends. See runScenario. */
export function runDegradation(options: DegradationOptions, hooks: RunHooks = {}): Promise<Run<DegradationResults>> {
  return runScenario(degradation, options, hooks);
}
