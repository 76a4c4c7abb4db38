import { serverSettingsFor } from "../horizons/registry.ts";
import { samplesCsv } from "../report/files.ts";
import { clock, wrap } from "../report/format.ts";
import { reportedSettings } from "../report/results.ts";
import type { CellPlan } from "../xmin/xmin-results.ts";
import { terminalRows } from "../report/table.ts";
import { measuredCell, someFailed, systemsInTurn, repeatText } from "../runner/cells.ts";
import { runScenario, type Run, type RunHooks } from "../runner/run.ts";
import type { Scenario, StepContext } from "../runner/scenario.ts";
import { measureSoak } from "./soak-cell.ts";
import { driftColumns, textColumns } from "./soak-columns.ts";
import { soakDocument } from "./soak-document.ts";
import type { MeasuredSoak, SoakResults } from "./soak-results.ts";
import type { SoakSample } from "./soak-samples.ts";
import { resolveSoakSettings, type SoakOptions, type SoakSettings } from "./soak-settings.ts";
import { driftRows, soakCaveats, verdictOf } from "./soak-summary.ts";

/** Half an hour is the least that says something. */
const conclusiveSeconds = 1800;
const overheadSeconds = 5;

const soak: Scenario<SoakOptions, SoakSettings, CellPlan, MeasuredSoak, SoakResults> = {
  name: "soak",
  resolve: resolveSoakSettings,
  serverSettings: ({ horizons }) => serverSettingsFor(horizons),
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.seconds < conclusiveSeconds, server),
    cells: [],
    interrupted: false,
  }),
  plan: ({ horizons, ...settings }) =>
    systemsInTurn(settings).flatMap((cell) => horizons.map((horizon) => ({ ...cell, horizon }))),
  measure: soakCell,
  keep: ({ cells }, { cell }) => void cells.push(cell),
  document: soakDocument,
  files: (measured) => ({
    "samples.csv": samplesCsv(
      measured.map(({ cell: { system, horizon, repeat }, samples }) => ({ system, horizon, repeat, samples })),
    ),
  }),
  report: terminalReport,
  failed: someFailed,
  headline: ({ settings }, cells) =>
    `${cells.length} cell(s) of ${clock(settings.seconds)}, ${settings.rate} messages/s,\n` +
    `${settings.producers} producers, ${settings.consumers} consumers`,
  stepSeconds: ({ seconds }) => seconds + overheadSeconds,
  stepText: ({ system, horizon, repeat }) => `${system}, ${horizon}${repeatText(repeat)}`,
  measuredText: ({ cell }) => verdictOf(cell),
};

/** Runs systems at a steady rate for half an hour or longer each, and says what of them drifts. See runScenario. */
export function runSoak(options: SoakOptions, hooks: RunHooks = {}): Promise<Run<SoakResults>> {
  return runScenario(soak, options, hooks);
}

/** One that is stopped has no figures, but keeps its samples: they may be those of hours. */
async function soakCell(plan: CellPlan, context: StepContext<SoakSettings>): Promise<MeasuredSoak> {
  const samples: SoakSample[] = [];
  try {
    return { cell: await measuredCell(plan, context, () => measureSoak(plan, context, samples)), samples };
  } catch (error) {
    const last = samples.at(-1);
    if (last === undefined) throw error;
    const stopped = `stopped after ${clock(last.seconds)}`;
    const { version } = context.server;
    return { cell: { ...plan, postgres: version, figures: null, notRun: null, error: stopped }, samples };
  }
}

function terminalReport(results: SoakResults): string {
  return [terminalRows(driftColumns, driftRows(results), textColumns), wrap(soakCaveats(results).join(" "))].join(
    "\n\n",
  );
}
