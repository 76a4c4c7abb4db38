import { degradedSystems, named } from "../../adapters/registry.ts";
import { horizonNamed } from "../../horizons/registry.ts";
import { described, headed, overTime } from "../../report/document.ts";
import { bytes, clock, micros, ms, ratio, whole } from "../../report/format.ts";
import { chartGroup } from "../../report/html/chart-trial.ts";
import { measuresNamed } from "../../report/html/measures.ts";
import { caveatsOf, figureOf, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import { reportRows, type Column } from "../../report/table.ts";
import {
  emptyResults,
  keepSampled,
  measuredTrial,
  outcomeText,
  repeatText,
  rowOf,
  samplesFile,
  someFailed,
  systemsInTurn,
  type Trial,
  type TrialResults,
  type FiguresRow,
  type Sampled,
  type SystemPlan,
} from "../../runner/trials.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario } from "../../runner/scenario.ts";
import {
  longTransaction,
  measureDegradation,
  resolveDegradationSettings,
  runawaySeconds,
  type DegradationFigures,
  type DegradationOptions,
  type DegradationSample,
  type DegradationSettings,
} from "./measure.ts";

export type DegradationTrial = Trial<SystemPlan, DegradationFigures>;
export type DegradationResults = TrialResults<DegradationSettings, DegradationTrial>;
export type SampledDegradation = Sampled<DegradationTrial, DegradationSample>;

/** A database, and the pages that are read to count what is dead. */
const overheadSeconds = 3;

const degradation: Scenario<
  DegradationOptions,
  DegradationSettings,
  SystemPlan,
  SampledDegradation,
  DegradationResults
> = {
  name: "degradation",
  resolve: resolveDegradationSettings,
  results: emptyResults,
  plan: systemsInTurn,
  async measure(plan, context) {
    const samples: DegradationSample[] = [];
    const trial = await measuredTrial(plan, context, () => measureDegradation(plan.system, context, samples));
    return { trial, samples };
  },
  keep: keepSampled,
  ...reporting(degradationReport),
  files: samplesFile,
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.rate} messages/s, ${settings.consumers} consumer(s),\n` +
    `${settings.cleanSeconds} s clean, then ${settings.heldSeconds} s beside a transaction that nobody ends, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ cleanSeconds, heldSeconds }) => cleanSeconds + heldSeconds + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: ({ trial }) =>
    outcomeText(
      trial,
      ({ backlogEnd, lockEndMs, deadTuples }) =>
        `backlog ${whole(backlogEnd)}, ${lockEndMs === null ? "nothing locked" : `${ms(lockEndMs.p50)} to lock one`}, ${whole(deadTuples)} dead tuples`,
    ),
};

/** Has a producer and a consumer go on at a steady rate beside a transaction that nobody ends. See runScenario. */
export function runDegradation(given: DegradationOptions, hooks: RunHooks = {}): Promise<Run<DegradationResults>> {
  return runScenario(degradation, given, hooks);
}

/** All repeats of one system, or what was published of it: what there is. */
interface DegradationRow extends FiguresRow<Partial<DegradationFigures>> {
  name: string;
  published: boolean;
}

/** In the order of the settings, what was published of a system below what was measured of it. */
function degradationRows({ trials, settings }: DegradationResults): DegradationRow[] {
  return settings.systems.flatMap((name): DegradationRow[] => {
    const row = rowOf(trials.filter(({ system }) => system === name));
    if (row === null) return [];
    const own = { ...row, name, published: false };
    const { published } = named(degradedSystems, name);
    if (published === undefined) return [own];
    return [own, { name: `${name}, published`, published: true, measured: [published], errors: [], skipped: [] }];
  });
}

const figure = figureOf<Partial<DegradationFigures>>();

/** Somebody who does not say when it ran away does not say that it did not. */
function ranAway(row: DegradationRow): string {
  const ran = row.measured.filter(({ ranAwaySeconds }) => typeof ranAwaySeconds === "number");
  const after = figure(({ ranAwaySeconds }) => ranAwaySeconds, clock)(row);
  if (row.published || ran.length === row.measured.length) return after;
  return ran.length === 0 ? "never" : `${after} in ${ran.length} of ${row.measured.length}`;
}

const name: Column<DegradationRow> = { head: "system", cell: (row) => row.name };

/** The answer. */
const mainColumns: Column<DegradationRow>[] = [
  name,
  { head: "backlog, end", cell: figure(({ backlogEnd }) => backlogEnd, whole) },
  { head: "backlog at most", cell: figure(({ backlogMax }) => backlogMax, whole) },
  { head: "ran away after", cell: ranAway },
  { head: "lock time, clean", cell: figure(({ lockCleanMs }) => lockCleanMs?.p50, ms) },
  { head: "lock time, end", cell: figure(({ lockEndMs }) => lockEndMs?.p50, ms) },
  { head: "end / clean", cell: figure(({ lockRatio }) => lockRatio, ratio) },
  { head: "dead tuples", cell: figure(({ deadTuples }) => deadTuples, whole) },
  { head: "finished/s, held", cell: figure(({ finishedPerSecond }) => finishedPerSecond, ratio) },
  { head: "CPU/message", cell: figure(({ serverCpuMicrosPerMessage }) => serverCpuMicrosPerMessage, micros) },
];

/** What else was measured; in the report only. */
const moreColumns: Column<DegradationRow>[] = [
  name,
  { head: "sent/s, held", cell: figure(({ sentPerSecond }) => sentPerSecond, ratio) },
  { head: "finished/s, clean", cell: figure(({ finishedPerSecondClean }) => finishedPerSecondClean, ratio) },
  { head: "CPU/message, clean", cell: figure((of) => of.serverCpuMicrosPerMessageClean, micros) },
  { head: "lock time p99, clean", cell: figure(({ lockCleanMs }) => lockCleanMs?.p99, ms) },
  { head: "lock time p99", cell: figure(({ lockEndMs }) => lockEndMs?.p99, ms) },
  { head: "latency p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "latency p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "on disk", cell: figure(({ bytes: own }) => own, bytes) },
  { head: "oldest transaction", cell: figure(({ oldestTransactionSeconds }) => oldestTransactionSeconds, clock) },
];

const chartMeasures = [
  "depth",
  "lockP50Ms",
  "lockP99Ms",
  "deadTuples",
  "oldestTransactionSeconds",
  "finishedPerSecond",
  "bytes",
] as const;

export function degradationReport(results: DegradationResults, measured: SampledDegradation[]): ScenarioReport {
  const rows = degradationRows(results);
  const ours = rows.filter(({ published }) => !published);
  const { settings } = results;
  const { rate, heldSeconds, endSeconds } = settings;
  const published =
    'Published: Brandur Leach, "Postgres Job Queues & Failure By MVCC" and que-degradation-test (brandur.org, 2015): an hour at 50 jobs/s, on a machine of his.';
  const unlike =
    heldSeconds === 3600 && rate === 50
      ? []
      : [`This run: ${heldSeconds} s at ${rate}/s, so that only the way it goes can be compared.`];
  return {
    caveats: caveatsOf(results, "a short while, and once.", [published, ...unlike].join(" ")),
    intro: "",
    table: reportRows("What a long transaction does", mainColumns, rows, 1),
    more: [
      `*Ran away after*: from when the transaction was opened until the backlog was beyond what is sent in ${runawaySeconds} s (${runawaySeconds * rate}), and stayed there. *Lock time*: the median time of the one statement that picks a message and locks it, as its client sees it, when it found one; *clean* before the transaction was opened, *end* in its last ${endSeconds} s. *Dead tuples*: in all tables of the system, when the load has stopped and the transaction is still open. *CPU*: of PostgreSQL, while the transaction was open.`,
      ...headed(reportRows("More of the same", moreColumns, ours, 1)),
      // all systems in the same charts
      ...overTime({
        systems: settings.systems,
        measures: measuresNamed(chartMeasures),
        about:
          "Time runs from when the long transaction was opened; while it was open the chart is shaded. Times to lock a message are those since the sample " +
          "before. Dead tuples are those of the server's statistics, the table's are counted at the end.",
        groups: [
          chartGroup(measured, {
            title: `${rate} messages a second, one long transaction`,
            label: "transaction open",
            zero: "held",
            names: chartMeasures,
          }),
        ],
      }),
    ],
    systems: ours.map((row) => {
      const { name: system, system: own } = named(degradedSystems, row.name);
      return described({ ...own, name: system });
    }),
    settings: [
      `one producer, ${rate} messages/s of ${settings.payloadBytes} bytes, one a send, open loop; ${settings.consumers} consumer(s), one message a receive (pgque-batch: up to 100), 10 ms of waiting after an empty one; the handler does nothing`,
      `${settings.cleanSeconds} s clean, then ${heldSeconds} s with the long transaction open: ${horizonNamed(longTransaction).summary}`,
      `each system in a fresh database, ${settings.repeat} repeat(s), one system after the other: one that collapses takes a core for itself, and those beside it would be slowed by that and not by their own dead rows`,
      `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise; Pgque rotates at its defaults`,
    ],
  };
}
