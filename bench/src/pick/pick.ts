import { reportedSettings } from "../report/reported-settings.ts";
import { terminalRows } from "../report/rows-table.ts";
import { whole, wrap } from "../report/format.ts";
import { measuredCell, systemsInTurn } from "../scenario/cells.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { outcomeText, repeatText } from "../scenario/texts.ts";
import { measurePick } from "./pick-cell.ts";
import { columns, textColumns } from "./pick-columns.ts";
import { pickDocument } from "./pick-document.ts";
import type { PickCell, PickPlan, PickResults } from "./pick-results.ts";
import { resolvePickSettings, type PickOptions, type PickSettings } from "./pick-settings.ts";
import { pickCaveats, pickRows } from "./pick-summary.ts";

/** Of the slowest, before anything is known: a guess that the first cells correct. */
const jobsPerSecond = 700;
const overheadSeconds = 2;

const pick: Scenario<PickOptions, PickSettings, PickPlan, PickCell, PickResults> = {
  name: "pick",
  resolve: resolvePickSettings,
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.quick, server),
    cells: [],
    interrupted: false,
  }),
  plan: systemsInTurn,
  measure: (plan, context) => measuredCell(plan, context, () => measurePick(plan.system, context)),
  keep: ({ cells }, cell) => void cells.push(cell),
  document: pickDocument,
  report: (results) =>
    [terminalRows(columns, pickRows(results), textColumns), wrap(pickCaveats(results).join(" "))].join("\n\n"),
  failed: ({ cells }) => cells.some(({ error }) => error !== null),
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${whole(settings.jobs)} jobs, ${settings.workers} workers, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ jobs }) => jobs / jobsPerSecond + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: (cell) => outcomeText(cell, ({ seconds }) => `${seconds.toFixed(1)} s`),
};

/** Has workers do jobs by priority, one at a time, as often as asked. See runScenario. */
export function runPick(options: PickOptions, hooks: RunHooks = {}): Promise<Run<PickResults>> {
  return runScenario(pick, options, hooks);
}
