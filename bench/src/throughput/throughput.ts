import { reportedSettings } from "../report/reported-settings.ts";
import { terminalRows } from "../report/rows-table.ts";
import { bytes, whole, wrap } from "../report/format.ts";
import { keepCell, measuredCell, someFailed } from "../scenario/cells.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { outcomeText, repeatText } from "../scenario/texts.ts";
import { measureThroughput } from "./throughput-cell.ts";
import { columns, loadText, textColumns } from "./throughput-columns.ts";
import { throughputDocument } from "./throughput-document.ts";
import { throughputPlan } from "./throughput-loads.ts";
import type { ThroughputCell, ThroughputPlan, ThroughputResults } from "./throughput-results.ts";
import { resolveThroughputSettings, type ThroughputOptions, type ThroughputSettings } from "./throughput-settings.ts";
import { throughputCaveats, throughputRows } from "./throughput-summary.ts";

/** A guess that the first cells correct. */
const overheadSeconds = 3;
/** How fast the backlog of a cell is sent, on average over all cells: sends have none. */
const backlogPerSecond = 50_000;

const throughput: Scenario<ThroughputOptions, ThroughputSettings, ThroughputPlan, ThroughputCell, ThroughputResults> = {
  name: "throughput",
  resolve: resolveThroughputSettings,
  results(head, { sqlFiles: _files, ...settings }, server) {
    return { ...head, settings: reportedSettings(settings, settings.quick, server), cells: [], interrupted: false };
  },
  plan: throughputPlan,
  measure: (plan, context) => measuredCell(plan, context, () => measureThroughput(plan, context)),
  keep: keepCell,
  document: throughputDocument,
  report: (results) =>
    [terminalRows(columns, throughputRows(results), textColumns), wrap(throughputCaveats(results).join(" "))].join(
      "\n\n",
    ),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; sends and receives of ${settings.payloadBytes.map(bytes).join(", ")}, ${settings.seconds} s a cell, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds, warmupSeconds, messages }) =>
    seconds + warmupSeconds + messages / backlogPerSecond + overheadSeconds,
  stepText: (plan) => `${plan.system}, ${loadText(plan)}, ${bytes(plan.payloadBytes)}${repeatText(plan.repeat)}`,
  measuredText: (cell) => outcomeText(cell, ({ messagesPerSecond }) => `${whole(messagesPerSecond)} messages/s`),
};

/** Sends, and receives, as fast as it goes, each on its own, as often as asked. See runScenario. */
export function runThroughput(options: ThroughputOptions, hooks: RunHooks = {}): Promise<Run<ThroughputResults>> {
  return runScenario(throughput, options, hooks);
}
