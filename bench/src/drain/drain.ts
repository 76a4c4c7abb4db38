import { whole } from "../report/format.ts";
import { emptyResults, keepCell, measuredCell, someFailed } from "../scenario/cells.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { repeatText, outcomeText } from "../scenario/texts.ts";
import { measureDrain } from "./drain-cell.ts";
import { drainDocument } from "./drain-document.ts";
import { drainPlan } from "./drain-plan.ts";
import type { DrainCell, DrainPlan, DrainResults } from "./drain-results.ts";
import { resolveDrainSettings, type DrainOptions, type DrainSettings } from "./drain-settings.ts";
import { processesText } from "./drain-summary.ts";
import { drainTerminalReport } from "./drain-table.ts";

/** Of sending and draining together, before anything is known: a guess that the first cells correct. */
const messagesPerSecond = 10_000;
const overheadSeconds = 4;

const drain: Scenario<DrainOptions, DrainSettings, DrainPlan, DrainCell, DrainResults> = {
  name: "drain",
  resolve: resolveDrainSettings,
  results: emptyResults,
  plan: drainPlan,
  measure: (plan, context) =>
    measuredCell(plan, context, () =>
      measureDrain(context.server, plan, context.settings, context.note, context.signal),
    ),
  keep: keepCell,
  document: drainDocument,
  report: drainTerminalReport,
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${whole(settings.messages)} messages a cell, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ messages }) => messages / messagesPerSecond + overheadSeconds,
  stepText: ({ system, processes, repeat }) => `${system}, ${processesText(processes)}${repeatText(repeat)}`,
  measuredText: (cell) => outcomeText(cell, ({ messagesPerSecond }) => `${whole(messagesPerSecond)}/s`),
};

/** Has every system drain a queue with so many worker processes, as often as asked. See runScenario. */
export function runDrain(options: DrainOptions, hooks: RunHooks = {}): Promise<Run<DrainResults>> {
  return runScenario(drain, options, hooks);
}
