import { systemNamed } from "../../adapters/registry.ts";
import { dynamicMs } from "../../horizons/advancing-feedback.ts";
import { quotient } from "../../measure/statistics.ts";
import { described, headed } from "../../report/document.ts";
import { cpuMs, ms, ratio, spread, whole } from "../../report/format.ts";
import { reportedSettings, type Spread } from "../../report/results.ts";
import { caveatsOf, noise, figureOf, medians, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import { reportRows, type Column } from "../../report/table.ts";
import {
  keepTrial,
  measuredTrial,
  outcomeText,
  ratioOf,
  repeatText,
  rowOf,
  someFailed,
  systemsInTurn,
  type Trial,
  type TrialResults,
  type FiguresRow,
} from "../../runner/trials.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario } from "../../runner/scenario.ts";
import {
  trialSeconds,
  intervalOf,
  intervalsMin,
  measureRetention,
  resolveRetentionSettings,
  type RetentionFigures,
  type RetentionOptions,
  type RetentionPlan,
  type RetentionSettings,
} from "./measure.ts";
import { perScale, updatedTables, type TableCounts, type UpdatedTable } from "./tables.ts";

export type RetentionTrial = Trial<RetentionPlan, RetentionFigures>;
export type RetentionResults = TrialResults<RetentionSettings, RetentionTrial>;

/** Trials shorter than this say which way it goes, not how far. */
const conclusiveSeconds = 60;
/** A database, its tables, its connections. */
const overheadSeconds = 2;
const fillSecondsPerScale = 0.5;

const retention: Scenario<RetentionOptions, RetentionSettings, RetentionPlan, RetentionTrial, RetentionResults> = {
  name: "retention",
  resolve: resolveRetentionSettings,
  results: (head, settings, server) => ({
    ...head,
    settings: reportedSettings(settings, settings.quick || settings.seconds < conclusiveSeconds, server),
    trials: [],
    interrupted: false,
  }),
  plan: retentionPlan,
  measure: (plan, context) => measuredTrial(plan, context, () => measureRetention(plan, context)),
  keep: keepTrial,
  ...reporting(retentionReport),
  failed: someFailed,
  headline: ({ settings }, trials) =>
    `${trials.length} trials of ${settings.seconds} s or ${intervalsMin} intervals; ${settings.tpcbClients} clients of TPC-B, scale ${settings.scale}; ` +
    `beside it ${settings.rate} messages/s through ${settings.systems.join(", ")}`,
  stepSeconds(settings, plans) {
    const measured = plans.reduce((sum, { interval }) => sum + trialSeconds(interval, settings), 0) / plans.length;
    return measured + overheadSeconds + fillSecondsPerScale * settings.scale;
  },
  stepText: ({ system, interval, repeat }) => `${system}, ${intervalText(interval)}${repeatText(repeat)}`,
  measuredText: (trial) =>
    outcomeText(
      trial,
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
  const rounds = Map.groupBy(systemsInTurn({ systems, repeat }), (turn) => turn.repeat);
  return [...rounds.values()].flatMap((turns) =>
    intervals.flatMap((interval) => turns.map((turn) => ({ ...turn, interval }))),
  );
}

/** Measures what a slot that moves on at intervals does to a load of updates, and to queues beside it. See runScenario. */
export function runRetention(given: RetentionOptions, hooks: RunHooks = {}): Promise<Run<RetentionResults>> {
  return runScenario(retention, given, hooks);
}

/** What the intervals are compared with. */
const reference = "none";

/** All repeats of one queue with one interval. */
interface RetentionRow extends FiguresRow<RetentionFigures> {
  system: string;
  interval: string;
  /** Within each repeat, with the same queue: transactions a second over those without a slot. */
  ratio: Spread | null;
}

/** In the order of the settings, systems together. */
function retentionRows({ trials, settings }: RetentionResults): RetentionRow[] {
  const of = (system: string, interval: string): RetentionTrial[] =>
    trials.filter((trial) => trial.system === system && trial.interval === interval);
  return settings.systems.flatMap((system) =>
    settings.intervals.flatMap((interval): RetentionRow[] => {
      const own = of(system, interval);
      const row = rowOf(own);
      if (row === null) return [];
      const compared = ratioOf(own, of(system, reference), (figures) => figures.transactionsPerSecond);
      return [{ ...row, system, interval, ratio: compared }];
    }),
  );
}

/** "none", "dynamic", "10 ms", "100 s" */
export function intervalText(name: string): string {
  const interval = intervalOf(name);
  if (typeof interval !== "number") return name;
  return interval % 1000 === 0 ? `${interval / 1000} s` : `${interval} ms`;
}

/**
 * What Hayato Kuroda measured in 2024 for the conflict detection of logical replication (pgsql-hackers, the thread on `update_deleted`): TPS with each
 * interval over TPS without a slot.
 */
const publishedRatios: Record<string, string> = {
  none: "1.00",
  "10": "1.00",
  "1000": "0.95",
  "10000": "0.75",
  "100000": "0.45",
  dynamic: "> 0.99",
};

/** Of the table of accounts there: HOT updates of all updates. */
const publishedHot = { without: "1,911,535 of 2,078,197", retained: "0 of 453,161" };

const publishedText =
  'Published: what Hayato Kuroda measured on pgsql-hackers in 2024, in the thread on "update_deleted" and the detection of conflicts, ' +
  "with pgbench on a machine of his and no queue beside it: TPS with the interval over TPS without. Of the updates of accounts there " +
  `${publishedHot.without} were HOT without, ${publishedHot.retained} with what was retained. It says how much an interval costs there, and no more.`;

const figure = figureOf<RetentionFigures>();

/** Of two counts of one table. */
const share =
  (table: UpdatedTable, dividend: keyof TableCounts, divisor: keyof TableCounts) =>
  ({ tables }: RetentionFigures): number | null =>
    quotient(tables[table][dividend], tables[table][divisor]);

const perTransaction = ({ serverCpuSeconds, transactions }: RetentionFigures): number | null =>
  quotient(serverCpuSeconds, transactions);

const percent = (value: number): string => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
const inSeconds = (value: number): string => `${value.toFixed(1)} s`;

const identity: Column<RetentionRow>[] = [
  { head: "queue beside", cell: ({ system }) => system },
  { head: "interval", cell: ({ interval }) => intervalText(interval) },
];

/** What became of the load. */
const loadColumns: Column<RetentionRow>[] = [
  ...identity,
  { head: "TPS", cell: figure(({ transactionsPerSecond }) => transactionsPerSecond, whole) },
  { head: "/ none", cell: (row) => (row.interval === reference ? "" : spread(row.ratio, ratio)) },
  { head: "published", cell: ({ interval }) => publishedRatios[interval] ?? "" },
  { head: "HOT, accounts", cell: figure(share("accounts", "hotUpdates", "updates"), percent) },
  { head: "dead tuples", cell: figure(({ tpcbDeadTuples }) => tpcbDeadTuples, whole) },
  { head: "server CPU / transaction", cell: figure(perTransaction, cpuMs) },
];

/** What became of the queue beside it. */
const queueColumns: Column<RetentionRow>[] = [
  ...identity,
  { head: "sent/s", cell: figure(({ queue }) => queue.sentPerSecond, whole) },
  { head: "finished/s", cell: figure(({ queue }) => queue.finishedPerSecond, whole) },
  { head: "latency p50", cell: figure(({ queue }) => queue.latencyMs?.p50, ms) },
  { head: "p99", cell: figure(({ queue }) => queue.latencyMs?.p99, ms) },
  { head: "dead tuples", cell: figure(({ queue }) => queue.deadTuples, whole) },
];

/** What the load did to each of its tables; in the reports only. */
const tableColumns: Column<RetentionRow>[] = [
  ...identity,
  ...updatedTables.map((table) => ({
    head: `HOT, ${table}`,
    cell: figure(share(table, "hotUpdates", "updates"), percent),
  })),
  ...updatedTables.flatMap((table) => [
    { head: `heap fetches / index scan, ${table}`, cell: figure(share(table, "heapFetches", "indexScans"), ratio) },
    { head: `entries read / index scan, ${table}`, cell: figure(share(table, "entriesRead", "indexScans"), ratio) },
    { head: `buffers / index scan, ${table}`, cell: figure((figures) => figures.buffersPerIndexScan[table], ratio) },
  ]),
];

/** What was seen of the slot, and who used the machine; in the reports only. */
const moreColumns: Column<RetentionRow>[] = [
  ...identity,
  { head: "slot moved", cell: figure(({ slot }) => slot?.moves, whole) },
  { head: "its age p50", cell: figure(({ slot }) => slot?.ageMsP50, ms) },
  { head: "its age, most", cell: figure(({ slot }) => slot?.ageMsMax, ms) },
  { head: "in transactions, most", cell: figure(({ slot }) => slot?.xminAgeMax, whole) },
  { head: "transaction p50", cell: figure(({ transactionMs }) => transactionMs?.p50, ms) },
  { head: "transaction p99", cell: figure(({ transactionMs }) => transactionMs?.p99, ms) },
  { head: "server CPU", cell: figure(({ serverCpuSeconds }) => serverCpuSeconds, inSeconds) },
  { head: "load's CPU", cell: figure(({ tpcbCpuSeconds }) => tpcbCpuSeconds, inSeconds) },
  { head: "queue's clients' CPU", cell: figure(({ queueCpuSeconds }) => queueCpuSeconds, inSeconds) },
  { head: "others' CPU", cell: figure(({ otherCpuSeconds }) => otherCpuSeconds, inSeconds) },
];

export function retentionReport(results: RetentionResults): ScenarioReport {
  const rows = retentionRows(results);
  const { settings, machine, trials } = results;
  const { scale, tpcbClients, seconds, rate } = settings;
  const table = (caption: string, columns: typeof identity) => reportRows(caption, columns, rows, 2);
  const measured = trials.flatMap(({ system, interval, figures }) =>
    figures === null ? [] : [{ name: `${system}, ${interval}`, seconds: trialSeconds(interval, settings), ...figures }],
  );
  return {
    caveats: [
      ...caveatsOf(
        results,
        "short trials, and few.",
        "Not pgbench: the load is a Node client, and it shares the cores with the server; compare ratios, not rates.",
        noise(measured, machine.cores),
      ),
      publishedText,
    ],
    intro: `${medians(results)} *Interval*: how long the slot keeps what dies before it moves on.`,
    table: [table("What the load does", loadColumns), table("What the queue beside it does", queueColumns)],
    more: [
      ...headed(table("The tables of the load", tableColumns)),
      "*HOT*: updates that touched no index, of all updates (`n_tup_hot_upd / n_tup_upd`). *Heap fetches*: rows that an index scan found alive (`idx_tup_fetch / idx_scan`). *Entries read*: what it read in the index to find them, dead ones included (`idx_tup_read / idx_scan`). *Buffers*: pages of index and table that it takes to find a random row by its key when the load has stopped. A dash: the planner of the load scanned the table, which is small, and no index.",
      ...headed(table("The slot and the machine", moreColumns)),
      "*Age*: how long before each look, from another session, the horizon of the slot was the oldest open transaction. *Dead tuples*: counted page by page when the load has stopped and the slot still holds. *Server CPU*: of load and queue together.",
    ],
    systems: settings.systems.map((name) => described(systemNamed(name))),
    settings: [
      `the load: pgbench's TPC-B-like transaction (three UPDATEs, a SELECT, an INSERT between BEGIN and COMMIT, a round trip each, prepared) on ${scale * perScale.accounts} accounts, ${scale * perScale.tellers} tellers, ${scale * perScale.branches} branches; ${tpcbClients} clients as fast as they can for ${seconds} s, or for ${intervalsMin} intervals where these are longer. Not pgbench: a Node client, in a process of its own`,
      `the queue beside it: ${rate} messages a second in an open loop, one of at least ${settings.payloadBytes} bytes a send; ${settings.producers} producers, ${settings.consumers} consumers, at most ${settings.batch} a receive`,
      "the slot: a physical one whose standby reports by hot standby feedback, when an interval is over, the transaction that is the oldest open one then. The standby takes no WAL",
      `dynamic: ${dynamicMs.min} ms, doubled up to ${dynamicMs.max / 1000} s each time that no transaction id was assigned in it, ${dynamicMs.min} ms again when one was`,
      "a trial counts only when another session saw the slot move on and be as old as its interval makes it, without one when nobody held the horizon, and when the history has a row for every transaction",
      `each trial in a fresh database, filled, vacuumed and checkpointed; systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
      `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise`,
    ],
  };
}
