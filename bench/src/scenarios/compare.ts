import { systemNamed, systemNames } from "../adapters/registry.ts";
import { horizonNamed, horizonNames, serverSettingsFor } from "../horizons/registry.ts";
import { payloadBytesMin } from "../load/messages.ts";
import type { LatencySummary } from "../measure/histogram.ts";
import { described, headed } from "../report/document.ts";
import { bytes, micros, ms, notMeasured, ratio, spread, whole } from "../report/format.ts";
import type { Spread } from "../report/results.ts";
import { reportRows, type Column } from "../report/table.ts";
import { caveatsOf, figureOf, medians, reporting, type ScenarioReport } from "../report/scenario-report.ts";
import {
  emptyResults,
  keepTrial,
  measuredTrial,
  ratioOf,
  rowOf,
  someFailed,
  systemsInTurn,
  type Trial,
  type TrialResults,
  type FiguresRow,
  type SystemPlan,
  outcomeText,
  repeatText,
} from "../runner/trials.ts";
import {
  integerOption,
  nameOption,
  namesOption,
  repeatOption,
  settingsOf,
  type OptionsOf,
  type SettingsOf,
} from "../runner/options.ts";
import { runScenario, type Run, type RunHooks } from "../runner/run.ts";
import type { Scenario, StepContext } from "../runner/scenario.ts";
import type { PhaseMeasurement } from "./xmin/workbench.ts";
import { evidenceOf, invalidity } from "./xmin/results.ts";
import { measureXmin, type Measured } from "./xmin/trial.ts";
import { resolveSettings, type Settings } from "./xmin/settings.ts";

export const compareOptions = {
  durationSeconds: integerOption(
    ["duration <seconds>", "how long each of the four phases is measured"],
    [1, 86_400],
    60,
    5,
  ),
  rate: integerOption(["rate <messages/s>", "of the paced phases, which measure the latency"], [1, 1_000_000], 100),
  producers: integerOption(["producers <n>", ""], [1, 100], 4),
  consumers: integerOption(["consumers <n>", ""], [1, 100], 4),
  batch: integerOption(["batch <messages>", "the most one receive returns"], [1, 10_000], 100),
  /** The paced phases send one by one. */
  sendBatch: integerOption(["send-batch <messages>", "in one send of the saturated phases"], [1, 10_000], 10),
  payloadBytes: integerOption(["payload-bytes <bytes>", ""], [payloadBytesMin, 1_048_576], 75),
  systems: namesOption(["systems <names>", ""], systemNames),
  horizon: nameOption(["horizon <name>", "who holds the horizon"], horizonNames, "repeatable-read"),
  repeat: repeatOption(3, 1),
};

/** What a user of the scenario `compare` may choose. */
export type CompareOptions = OptionsOf<typeof compareOptions>;

type CompareSettings = SettingsOf<typeof compareOptions> & {
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
};

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveCompareSettings(given: CompareOptions): CompareSettings {
  const settings = settingsOf(compareOptions, given);
  return { ...settings, synchronousCommit: "on", autovacuumNaptimeSeconds: settings.quick ? 1 : 10 };
}

/** What a saturated queue does. */
interface SaturatedFigures {
  sentPerSecond: number;
  finishedPerSecond: number;
  /** Null without finished messages, and of a system that keeps nothing in PostgreSQL. */
  walBytesPerMessage: number | null;
  /** Null where the server's processes cannot be looked at. */
  serverCpuMicrosPerMessage: number | null;
  /** How much of the time the harness's one thread was busy, 0 to 1: near to 1 it is what limits the rate. */
  harnessBusy: number;
}

/** What was measured. Null: could not be. */
export interface CompareFigures {
  clean: SaturatedFigures;
  /** Dead tuples and bytes: null of a system that keeps nothing in PostgreSQL. */
  held: SaturatedFigures & { deadTuples: number | null; bytes: number | null };
  /** From when a message was due to be sent until a consumer had it in hand, at a rate that leaves consumers idle. */
  latencyMs: LatencySummary | null;
  /** The same with the horizon held. */
  latencyHeldMs: LatencySummary | null;
}

export type CompareTrial = Trial<SystemPlan, CompareFigures>;
export type CompareResults = TrialResults<CompareSettings, CompareTrial>;

/** A database twice, a backlog that drains twice. */
const overheadSeconds = 20;

const compare: Scenario<CompareOptions, CompareSettings, SystemPlan, CompareTrial, CompareResults> = {
  name: "compare",
  resolve: resolveCompareSettings,
  serverSettings: ({ horizon }) => serverSettingsFor([horizon]),
  results: emptyResults,
  plan: systemsInTurn,
  measure: (plan, context) => measuredTrial(plan, context, () => measureCompared(plan.system, context)),
  keep: keepTrial,
  ...reporting(compareReport),
  failed: someFailed,
  headline: ({ settings }) =>
    `${settings.systems.join(", ")}; ${settings.seconds} s a phase, horizon held by ${settings.horizon}, ${settings.repeat} repeat(s)`,
  stepSeconds: ({ seconds }) => 4 * seconds + overheadSeconds,
  stepText: ({ system, repeat }) => `${system}${repeatText(repeat)}`,
  measuredText: (trial) =>
    outcomeText(
      trial,
      ({ clean, held }) =>
        `${whole(clean.finishedPerSecond)}/s, held ${whole(held.finishedPerSecond)}/s` +
        (held.deadTuples === null ? "" : `, ${whole(held.deadTuples)} dead tuples`),
    ),
};

/** Measures every system that is installed, without and with the horizon held, into one table. See runScenario. */
export function runCompare(given: CompareOptions, hooks: RunHooks = {}): Promise<Run<CompareResults>> {
  return runScenario(compare, given, hooks);
}

/** Two trials of the scenario xmin: saturated, then at a rate that leaves consumers idle. Throws when the figures cannot be used. */
async function measureCompared(
  name: string,
  { server, settings, signal, note }: StepContext<CompareSettings>,
): Promise<CompareFigures> {
  const part = async (load: "saturated" | "paced"): Promise<Measured> => {
    const own = partSettings(settings, load);
    const hooks = { onPhase: (phase: string) => note(`${load}, ${phase}`), onSample: () => undefined };
    const measured = await measureXmin(server, systemNamed(name), horizonNamed(settings.horizon), own, hooks, signal);
    const reason = invalidity(evidenceOf(measured, own));
    if (reason !== null) throw new Error(`${load}: ${reason}`);
    return measured;
  };
  const saturated = await part("saturated");
  const paced = await part("paced");
  const { inPostgres } = saturated;
  return {
    clean: saturatedFigures(saturated.clean, inPostgres),
    held: {
      ...saturatedFigures(saturated.held, inPostgres),
      deadTuples: inPostgres ? saturated.dead.total : null,
      bytes: inPostgres ? saturated.held.last.bytes : null,
    },
    latencyMs: paced.clean.latency,
    latencyHeldMs: paced.held.latency,
  };
}

function saturatedFigures(
  { first, last, seconds, serverCpuSeconds, harnessBusy }: PhaseMeasurement<unknown>,
  inPostgres: boolean,
): SaturatedFigures {
  const finished = last.dequeued - first.dequeued;
  const perMessage = (figure: number): number | null => (finished === 0 ? null : figure / finished);
  return {
    sentPerSecond: (last.enqueued - first.enqueued) / seconds,
    finishedPerSecond: finished / seconds,
    walBytesPerMessage: inPostgres ? perMessage(last.walBytes - first.walBytes) : null,
    serverCpuMicrosPerMessage: serverCpuSeconds === null ? null : perMessage(serverCpuSeconds * 1_000_000),
    harnessBusy,
  };
}

/** The settings of one trial of the scenario `xmin` that measures a part of this one: as long without the horizon held as with it. */
function partSettings(settings: CompareSettings, part: "saturated" | "paced"): Settings {
  const { quick, seconds, rate, sendBatch, producers, consumers, batch, payloadBytes } = settings;
  const load = part === "saturated" ? { rate: 0, sendBatch } : { rate, sendBatch: 1 };
  const resolved = resolveSettings({
    quick,
    durationSeconds: seconds,
    producers,
    consumers,
    batch,
    payloadBytes,
    ...load,
  });
  return { ...resolved, cleanSeconds: seconds, autovacuumNaptimeSeconds: settings.autovacuumNaptimeSeconds };
}

/** The others are compared with it. */
const reference = "pgque";

/** All repeats of one system. */
interface CompareRow extends FiguresRow<CompareFigures> {
  system: string;
  /** Within each repeat: finished messages a second of pgque over this one's, without the horizon held. */
  ratioClean: Spread | null;
  /** The same with the horizon held. */
  ratioHeld: Spread | null;
}

/** In the order of the settings. */
function compareRows({ trials, settings }: CompareResults): CompareRow[] {
  const of = (name: string): CompareTrial[] => trials.filter(({ system }) => system === name);
  return settings.systems.flatMap((system): CompareRow[] => {
    const row = rowOf(of(system));
    if (row === null) return [];
    const ratioClean = ratioOf(of(reference), of(system), ({ clean }) => clean.finishedPerSecond);
    const ratioHeld = ratioOf(of(reference), of(system), ({ held }) => held.finishedPerSecond);
    return [{ ...row, system, ratioClean, ratioHeld }];
  });
}

const figure = figureOf<CompareFigures>();

/** What a system has that keeps its messages in PostgreSQL. */
const stored =
  (pick: (figures: CompareFigures) => number | null | undefined, format: (value: number) => string) =>
  (row: CompareRow): string =>
    systemNamed(row.system).schema === null ? notMeasured : figure(pick, format)(row);

/** The row of what the others are compared with says nothing. */
const compared =
  (pick: (row: CompareRow) => Spread | null) =>
  (row: CompareRow): string =>
    row.system === reference ? "" : spread(pick(row), ratio);

const name: Column<CompareRow> = { head: "system", cell: ({ system }) => system };
const inBytes = (value: number): string => `${whole(value)} B`;

/** The answer. */
const mainColumns: Column<CompareRow>[] = [
  name,
  { head: "finished/s", cell: figure(({ clean }) => clean.finishedPerSecond, whole) },
  { head: "held", cell: figure(({ held }) => held.finishedPerSecond, whole) },
  { head: "pgque / this", cell: compared((row) => row.ratioClean) },
  { head: "held", cell: compared((row) => row.ratioHeld) },
  { head: "latency p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "WAL/message", cell: stored(({ clean }) => clean.walBytesPerMessage, inBytes) },
  { head: "dead tuples, held", cell: stored(({ held }) => held.deadTuples, whole) },
];

/** What else was measured; in report.md only. */
const moreColumns: Column<CompareRow>[] = [
  name,
  { head: "sent/s", cell: figure(({ clean }) => clean.sentPerSecond, whole) },
  { head: "held", cell: figure(({ held }) => held.sentPerSecond, whole) },
  { head: "server CPU/message", cell: figure(({ clean }) => clean.serverCpuMicrosPerMessage, micros) },
  { head: "held", cell: figure(({ held }) => held.serverCpuMicrosPerMessage, micros) },
  { head: "harness busy", cell: figure(({ clean }) => clean.harnessBusy, percent) },
  { head: "held", cell: figure(({ held }) => held.harnessBusy, percent) },
  { head: "latency p50, held", cell: figure(({ latencyHeldMs }) => latencyHeldMs?.p50, ms) },
  { head: "p99, held", cell: figure(({ latencyHeldMs }) => latencyHeldMs?.p99, ms) },
  { head: "on disk, held", cell: stored(({ held }) => held.bytes, bytes) },
];

function percent(share: number): string {
  return `${whole(share * 100)} %`;
}

function compareReport(results: CompareResults): ScenarioReport {
  const rows = compareRows(results);
  const { settings } = results;
  return {
    caveats: caveatsOf(
      results,
      "short phases, and once.",
      "The harness shares the cores with the servers: compare ratios, not rates.",
    ),
    intro: `${medians(results)} *Held*: with the horizon held by ${settings.horizon}.`,
    table: reportRows("Every system", mainColumns, rows, 1),
    more: [
      ...headed(reportRows("More of the same", moreColumns, rows, 1)),
      "*Latency*: from when a message was due to be sent until a consumer had it in hand, at a rate that leaves consumers idle. *WAL* and *server CPU*: for each finished message, with all that sending it cost; the CPU is that of PostgreSQL, and of Redis where a system has one. *Harness busy*: how much of the time the one thread of JavaScript that all senders and consumers of a system share was, near to 100 % it limits the rate, and the server could do more. *Dead tuples*: in all tables of the system, when the load has stopped and the holder still holds.",
    ],
    systems: rows.map(({ system }) => described(systemNamed(system))),
    settings: [
      `saturated: ${settings.producers} producers and ${settings.consumers} consumers as fast as they can, ${settings.sendBatch} messages of at least ${settings.payloadBytes} bytes a send, at most ${settings.batch} a receive; ${settings.seconds} s, then as long with the horizon held by ${settings.horizon}: ${horizonNamed(settings.horizon).summary}`,
      `paced: ${settings.rate} messages a second, one a send; as long without and with the horizon held`,
      `each in a fresh database, systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
      `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise`,
    ],
  };
}
