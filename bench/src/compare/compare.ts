import { whole } from "../report/format.ts";
import { serverSettingsFor } from "../horizons/registry.ts";
import { reportedSettings } from "../report/reported-settings.ts";
import { measuredCell, systemsInTurn } from "../scenario/cells.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { outcomeText, repeatText } from "../scenario/texts.ts";
import { measureCompared } from "./compare-cell.ts";
import { compareDocument } from "./compare-document.ts";
import type { CompareCell, ComparePlan, CompareResults } from "./compare-results.ts";
import { resolveCompareSettings, type CompareOptions, type CompareSettings } from "./compare-settings.ts";
import { compareTerminalReport } from "./compare-table.ts";

/** A database twice, a backlog that drains twice. */
const overheadSeconds = 20;

const compare: Scenario<CompareOptions, CompareSettings, ComparePlan, CompareCell, CompareResults> = {
  name: "compare",
  resolve: resolveCompareSettings,
  serverSettings: ({ horizon }) => serverSettingsFor([horizon]),
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.quick, server),
    cells: [],
    interrupted: false,
  }),
  plan: systemsInTurn,
  measure: (plan, context) => measuredCell(plan, context, () => measureCompared(plan.system, context)),
  keep: ({ cells }, cell) => void cells.push(cell),
  document: compareDocument,
  report: compareTerminalReport,
  failed: ({ cells }) => cells.some(({ error }) => error !== null),
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a phase, horizon held by ${settings.horizon}, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds }) => 4 * seconds + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: (cell) =>
    outcomeText(
      cell,
      ({ clean, held }) =>
        `${whole(clean.finishedPerSecond)}/s, held ${whole(held.finishedPerSecond)}/s` +
        (held.deadTuples === null ? "" : `, ${whole(held.deadTuples)} dead tuples`),
    ),
};

/** Measures every system that is installed, without and with the horizon held, into one table. See runScenario. */
export function runCompare(options: CompareOptions, hooks: RunHooks = {}): Promise<Run<CompareResults>> {
  return runScenario(compare, options, hooks);
}
