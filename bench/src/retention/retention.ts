import { wrap, whole } from "../report/format.ts";
import { reportedSettings } from "../report/results.ts";
import { terminalRows } from "../report/table.ts";
import { keepCell, measuredCell, someFailed, systemsInTurn, outcomeText, repeatText } from "../runner/cells.ts";
import { runScenario, type Run, type RunHooks } from "../runner/run.ts";
import type { Scenario } from "../runner/scenario.ts";
import { measureRetention } from "./retention-cell.ts";
import { loadColumns, queueColumns, textColumns } from "./retention-columns.ts";
import { publishedText, retentionDocument } from "./retention-document.ts";
import type { RetentionCell, RetentionPlan, RetentionResults } from "./retention-results.ts";
import { resolveRetentionSettings, type RetentionOptions, type RetentionSettings } from "./retention-settings.ts";
import { intervalText, retentionCaveats, retentionRows } from "./retention-summary.ts";

/** Cells shorter than this say which way it goes, not how far. */
const conclusiveSeconds = 60;
/** A database, its tables, its connections. */
const overheadSeconds = 2;
const fillSecondsPerScale = 0.5;

const retention: Scenario<RetentionOptions, RetentionSettings, RetentionPlan, RetentionCell, RetentionResults> = {
  name: "retention",
  resolve: resolveRetentionSettings,
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.quick || settings.seconds < conclusiveSeconds, server),
    cells: [],
    interrupted: false,
  }),
  plan: retentionPlan,
  measure: (plan, context) => measuredCell(plan, context, () => measureRetention(plan, context)),
  keep: keepCell,
  document: retentionDocument,
  report(results) {
    const rows = retentionRows(results);
    return [
      terminalRows(loadColumns, rows, textColumns),
      terminalRows(queueColumns, rows, textColumns),
      wrap(retentionCaveats(results).join(" ")),
      wrap(publishedText),
    ].join("\n\n");
  },
  failed: someFailed,
  headline: ({ settings }, cells) =>
    `${cells.length} cells of ${settings.seconds} s; ${settings.tpcbClients} clients of TPC-B, scale ${settings.scale}; ` +
    `beside it ${settings.rate} messages/s through ${settings.systems.join(", ")}`,
  stepSeconds: ({ seconds, scale }) => seconds + overheadSeconds + fillSecondsPerScale * scale,
  stepText: ({ system, interval, repeat }) => `${system}, ${intervalText(interval)}${repeatText(repeat)}`,
  measuredText: (cell) =>
    outcomeText(
      cell,
      ({ transactionsPerSecond, queue }) =>
        `${whole(transactionsPerSecond)} TPS, ${whole(queue.finishedPerSecond)} messages/s finished`,
    ),
};

/** Systems in turn with each interval within each repeat, so that a machine that gets slower gets slower for all. */
export function retentionPlan({
  systems,
  intervals,
  repeat,
}: Pick<RetentionSettings, "systems" | "intervals" | "repeat">): RetentionPlan[] {
  const turns = systemsInTurn({ systems, repeat });
  return Array.from({ length: repeat }, (_, n) => n + 1).flatMap((round) =>
    intervals.flatMap((interval) =>
      turns.filter((turn) => turn.repeat === round).map(({ system }) => ({ system, interval, repeat: round })),
    ),
  );
}

/** Measures what a slot that moves on at intervals does to a load of updates, and to queues beside it. See runScenario. */
export function runRetention(options: RetentionOptions, hooks: RunHooks = {}): Promise<Run<RetentionResults>> {
  return runScenario(retention, options, hooks);
}
