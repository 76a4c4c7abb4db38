import { ms, whole } from "../report/format.ts";
import { reportedSettings } from "../report/reported-settings.ts";
import { runScenario, type Run, type RunHooks } from "../scenario/run.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { outcomeText, repeatText } from "../scenario/texts.ts";
import { measureLatencies } from "./latency-cell.ts";
import { latencyDocument } from "./latency-document.ts";
import { latencyPlan } from "./latency-plan.ts";
import type { LatencyCell, LatencyPlan, LatencyResults } from "./latency-results.ts";
import { resolveLatencySettings, type LatencyOptions, type LatencySettings } from "./latency-settings.ts";
import { latencyTerminalReport } from "./latency-table.ts";

/** A database, a process, and the messages that warm up. */
const overheadSeconds = 3;

/** The cells of one rate are a step: they are measured together. */
const latency: Scenario<LatencyOptions, LatencySettings, LatencyPlan[], LatencyCell[], LatencyResults> = {
  name: "latency",
  resolve: resolveLatencySettings,
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.quick, server),
    cells: [],
    interrupted: false,
  }),
  plan: latencyPlan,
  measure: (cells, { server, settings, signal }) => measureLatencies(server, cells, settings, signal),
  keep: ({ cells }, measured) => void cells.push(...measured),
  document: latencyDocument,
  report: latencyTerminalReport,
  failed: ({ cells }) => cells.some(({ error }) => error !== null),
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a cell, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ systems, seconds }) => systems.length * (seconds + overheadSeconds),
  stepText: ([cell]) =>
    cell === undefined ? "" : `${whole(cell.messagesPerSecond)} messages/s${repeatText(cell.repeat)}`,
  measuredText: (cells) => `p50 ${cells.map((cell) => `${cell.system} ${outcomeText(cell, p50)}`).join(", ")}`,
};

const p50 = ({ latencyMs }: NonNullable<LatencyCell["figures"]>): string =>
  latencyMs === null ? "nothing arrived" : ms(latencyMs.p50);

/**
 * Measures how long messages take from when they were due to be sent to their handlers, for every system at every rate, as often as asked.
 * See runScenario.
 */
export function runLatency(options: LatencyOptions, hooks: RunHooks = {}): Promise<Run<LatencyResults>> {
  return runScenario(latency, options, hooks);
}
