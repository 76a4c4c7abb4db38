import { systemNamed } from "../../adapters/registry.ts";
import { cpuMs, bytes, ms, ratio, spread, whole } from "../../report/format.ts";
import { described } from "../../report/document.ts";
import type { Spread } from "../../report/results.ts";
import { reportRows, type Column } from "../../report/table.ts";
import { caveatsOf, figureOf, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import {
  emptyResults,
  keepTrial,
  measuredTrial,
  ratioOf,
  rowOf,
  someFailed,
  type Trial,
  type TrialResults,
  type FiguresRow,
  outcomeText,
  repeatText,
} from "../../runner/trials.ts";
import { runScenario, type Run, type RunHooks } from "../../runner/run.ts";
import type { Scenario } from "../../runner/scenario.ts";
import { measureThroughput, type ThroughputFigures } from "./measure.ts";
import {
  resolveThroughputSettings,
  throughputLoads,
  throughputPlan,
  type ThroughputLoad,
  type ThroughputOptions,
  type ThroughputPlan,
  type ThroughputSettings,
} from "./plan.ts";

export type ThroughputTrial = Trial<ThroughputPlan, ThroughputFigures>;
export type ThroughputResults = TrialResults<Omit<ThroughputSettings, "sqlFiles">, ThroughputTrial>;

/** A guess that the first trials correct. */
const overheadSeconds = 3;
/** How fast the backlog of a trial is sent, on average over all trials: sends have none. */
const backlogPerSecond = 50_000;

export const throughput: Scenario<
  ThroughputOptions,
  ThroughputSettings,
  ThroughputPlan,
  ThroughputTrial,
  ThroughputResults
> = {
  name: "throughput",
  resolve: resolveThroughputSettings,
  results: (head, { sqlFiles: _files, ...settings }, server) => emptyResults(head, settings, server),
  plan: throughputPlan,
  measure: (plan, context) => measuredTrial(plan, context, () => measureThroughput(plan, context)),
  keep: keepTrial,
  ...reporting(throughputReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; sends and receives of ${settings.payloadBytes.map(bytes).join(", ")}, ${settings.seconds} s a trial, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds, warmupSeconds, messages }) =>
    seconds + warmupSeconds + messages / backlogPerSecond + overheadSeconds,
  stepText: (plan) => `${plan.system}, ${loadText(plan)}, ${bytes(plan.payloadBytes)}${repeatText(plan.repeat)}`,
  measuredText: (trial) => outcomeText(trial, ({ messagesPerSecond }) => `${whole(messagesPerSecond)} messages/s`),
};

/** Sends, and receives, as fast as it goes, each on its own, as often as asked. See runScenario. */
export function runThroughput(given: ThroughputOptions, hooks: RunHooks = {}): Promise<Run<ThroughputResults>> {
  return runScenario(throughput, given, hooks);
}

/** As in "send 1 a call, 16 clients". */
function loadText({ kind, perCall, clients }: ThroughputLoad): string {
  return `${kind} ${whole(perCall)} a call${clients > 1 ? `, ${clients} clients` : ""}`;
}

/** All repeats of one system under one load. */
interface ThroughputRow extends FiguresRow<ThroughputFigures> {
  system: string;
  load: ThroughputLoad;
  /** Within each repeat: messages a second of pgque over this one's. */
  ratio: Spread | null;
}

/** The others are compared with it. */
const reference = "pgque";

/** Loads in the order in which they are run, and in each the systems in the order of the settings. */
export function throughputRows({ trials, settings }: ThroughputResults): ThroughputRow[] {
  return throughputLoads(settings).flatMap((load) => {
    const of = (name: string): ThroughputTrial[] =>
      trials.filter((trial) => trial.system === name && sameLoad(trial, load));
    return settings.systems.flatMap((system): ThroughputRow[] => {
      const row = rowOf(of(system));
      if (row === null) return [];
      const compared = ratioOf(of(reference), of(system), ({ messagesPerSecond }) => messagesPerSecond);
      return [{ ...row, system, load, ratio: compared }];
    });
  });
}

function sameLoad(one: ThroughputLoad, other: ThroughputLoad): boolean {
  return (["kind", "payloadBytes", "perCall", "clients"] as const).every((each) => one[each] === other[each]);
}

const publishedNote =
  "Published: what PgQue (pgq-universal here) gives for itself, by 16 clients with one message a transaction and in batches of 100,000, on an " +
  "Apple machine of 10 cores with PostgreSQL 18 and synchronous_commit off: what that machine does, and nothing to divide by.";

const published: (Pick<ThroughputLoad, "kind" | "payloadBytes"> & { batched: boolean; messagesPerSecond: number })[] = [
  { kind: "send", batched: false, payloadBytes: 100, messagesPerSecond: 85_836 },
  { kind: "send", batched: true, payloadBytes: 100, messagesPerSecond: 80_515 },
  { kind: "send", batched: true, payloadBytes: 2048, messagesPerSecond: 48_899 },
  { kind: "receive", batched: true, payloadBytes: 100, messagesPerSecond: 2_400_000 },
  { kind: "receive", batched: true, payloadBytes: 2048, messagesPerSecond: 305_000 },
];

/** Messages a second under the same kind of load and with as large a payload; undefined where none was published. */
export function publishedFor({ kind, payloadBytes, perCall }: ThroughputLoad): number | undefined {
  return published.find(
    (figure) => figure.kind === kind && figure.payloadBytes === payloadBytes && figure.batched === perCall > 1,
  )?.messagesPerSecond;
}

const figure = figureOf<ThroughputFigures>();
/** A batch that is one row of its own is a fraction of a byte for each message. */
const walBytes = (value: number): string => `${value < 10 ? value.toFixed(1) : whole(value)} B`;

const columns: Column<ThroughputRow>[] = [
  { head: "load", cell: ({ load }) => loadText(load) },
  { head: "payload", cell: ({ load }) => bytes(load.payloadBytes) },
  { head: "system", cell: ({ system }) => system },
  { head: "messages/s", cell: figure(({ messagesPerSecond }) => messagesPerSecond, whole) },
  { head: `${reference} / this`, cell: (row) => (row.system === reference ? "" : spread(row.ratio, ratio)) },
  {
    head: "PgQue, published",
    cell: ({ load }) => {
      const theirs = publishedFor(load);
      return theirs === undefined ? "" : whole(theirs);
    },
  },
  { head: "server CPU / 1,000", cell: figure((figures) => figures.serverCpuSecondsPerThousand, cpuMs) },
  { head: "client CPU / 1,000", cell: figure((figures) => figures.clientCpuSecondsPerThousand, cpuMs) },
  { head: "WAL/message", cell: figure(({ walBytesPerMessage }) => walBytesPerMessage, walBytes) },
  { head: "dead tuples", cell: figure(({ deadTuples }) => deadTuples, whole) },
  { head: "call, p50", cell: figure(({ calls }) => calls?.p50Ms, ms) },
];

function throughputReport(results: ThroughputResults): ScenarioReport {
  const rows = throughputRows(results);
  const { settings } = results;
  const backlogs = throughputLoads(settings).flatMap((load) =>
    load.backlog === null
      ? []
      : [
          `${loadText(load)}, ${bytes(load.payloadBytes)}: a backlog of ${whole(load.backlog)} messages and one call more to warm up`,
        ],
  );
  return {
    caveats: [
      ...caveatsOf(
        results,
        "short trials, smaller batches, and once.",
        "The client shares the cores with the server: compare ratios, not rates.",
      ),
      publishedNote,
    ],
    table: reportRows("How fast messages are sent, and received", columns, rows, 3),
    more: [
      "*Receive*: from a backlog, each batch finished before the next is received. *Dead tuples*: in all tables of the system when all is over, what autovacuum has left of them. *Server CPU* and *WAL*: of PostgreSQL while it was measured; what is changed was written after the last checkpoint, so few of its pages are logged whole. A library whose own workers receive is measured by `bench drain`.",
    ],
    systems: [...new Set(rows.map(({ system }) => system))].map((name) => described(systemNamed(name))),
    settings: [
      `closed loop: each client calls again as soon as its last call has returned; ${settings.seconds} s a trial, a receive until its backlog is gone if that is sooner`,
      `a send is warmed up for ${settings.warmupSeconds} s, which does not count; a receive by one call; VACUUM and ANALYZE after the set-up and after a backlog; on an embedded server a checkpoint after the set-up, and none from then on`,
      ...backlogs,
      `calls of ${whole(settings.batch)} messages, fewer where their payloads would be more than 64 MiB, which client and server have in memory; 100,000 is the most that one receive of Pgque returns. Batches are sent, and received, on one connection`,
      "payloads are JSON of random characters, which PostgreSQL does not compress: rows above about 2 kB go to TOAST; they are made before the clock runs",
      "what goes on beside the load is what an operator would have scheduled for the system",
      "a trial counts only when at least as many rows are stored as messages were sent, and no more were finished than were sent",
      `each trial in a fresh database, systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
      `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise; published with off`,
    ],
  };
}
