import { systemNamed, systemNames } from "../../adapters/registry.ts";
import {
  firstIntervalMs,
  holdAdvancing,
  type AdvancingProof,
  type FeedbackInterval,
} from "../../horizons/advancing-feedback.ts";
import { whileHeld } from "../../horizons/held.ts";
import { none } from "../../horizons/none.ts";
import { Background } from "../../load/background.ts";
import { openLoop, withPushed } from "../../load/load.ts";
import { payloadBytesMin } from "../../load/messages.ts";
import { DeliveryLedger } from "../../load/tally.ts";
import type { LatencySummary } from "../../measure/histogram.ts";
import { countDeadTuples } from "../../measure/relations.ts";
import type { SystemPlan } from "../../runner/trials.ts";
import { NotRun } from "../../runner/failure.ts";
import {
  BenchOptionError,
  integerOption,
  namesOption,
  repeatOption,
  settingsOf,
  type Declared,
  type OptionsOf,
} from "../../runner/options.ts";
import type { StepContext } from "../../runner/scenario.ts";
import { invalidity } from "../xmin/results.ts";
import { resolveSettings, type Settings } from "../xmin/settings.ts";
import { openWorkbench, runPhase, type PhaseMeasurement, type Workbench } from "../xmin/workbench.ts";
import { Tpcb } from "./load.ts";
import type { TpcbRun } from "./process.ts";
import { buffersPerIndexScan, tpcbSchema, type TpcbCounts, type UpdatedTable } from "./tables.ts";

const intervalMsMax = 3_600_000;

function intervals(given: string[]): string[] {
  const expected = `some of none, dynamic and whole milliseconds from 1 to ${intervalMsMax}`;
  const usable = (name: string): boolean =>
    ["none", "dynamic"].includes(name) || (/^[1-9]\d*$/.test(name) && Number(name) <= intervalMsMax);
  const unusable = given.find((name) => !usable(name));
  if (unusable !== undefined || given.length === 0) {
    throw new BenchOptionError("intervals", expected, unusable ?? "nothing");
  }
  return [...new Set(given)];
}

const intervalsOption: Declared<string[]> = {
  flag: {
    flag: "--intervals <list>",
    help:
      "milliseconds after which the slot moves on; none: no slot; dynamic: 100 ms, doubled while nothing happens " +
      "(default: none,10,1000,10000,100000,dynamic; quick: none,10,1000,dynamic)",
    value: "names",
  },
  preset: (quick) => ["none", "10", "1000", ...(quick ? [] : ["10000", "100000"]), "dynamic"],
  check: intervals,
};

export const retentionOptions = {
  durationSeconds: integerOption(
    ["duration <seconds>", "of a trial, which lasts at least two and a half of its intervals"],
    [1, 86_400],
    120,
    10,
  ),
  intervals: intervalsOption,
  systems: namesOption(["systems <names>", "the queues beside the load"], systemNames, ["pgque", "skip-locked"]),
  rate: integerOption(["rate <messages/s>", "of the queue, all producers together"], [1, 1_000_000], 800),
  scale: integerOption(["scale <n>", "of the tables of the load, 100000 accounts each"], [1, 10_000], 10, 1),
  tpcbClients: integerOption(["tpcb-clients <n>", "connections of the load"], [1, 100], 8),
  producers: integerOption(["producers <n>", "of the queue"], [1, 100], 4),
  consumers: integerOption(["consumers <n>", "of the queue"], [1, 100], 4),
  batch: integerOption(["batch <messages>", "the most one receive returns"], [1, 10_000], 100),
  payloadBytes: integerOption(["payload-bytes <bytes>", ""], [payloadBytesMin, 1_048_576], 75),
  repeat: repeatOption(3, 1),
};

/** What a user of the scenario `retention` may choose. */
export type RetentionOptions = OptionsOf<typeof retentionOptions>;

export type RetentionSettings = ReturnType<typeof resolveRetentionSettings>;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveRetentionSettings(given: RetentionOptions) {
  const settings = settingsOf(retentionOptions, given);
  return { ...settings, synchronousCommit: "on" as const, autovacuumNaptimeSeconds: settings.quick ? 1 : 10 };
}

/** Null: no slot. */
export function intervalOf(name: string): FeedbackInterval | null {
  if (name === "none") return null;
  return name === "dynamic" ? "dynamic" : Number(name);
}

/** A trial that is shorter does not see its interval begin, end, and go on. */
export const intervalsMin = 2.5;

/** How long a trial lasts: as long as was asked for, and long enough for its interval. */
export function trialSeconds(intervalName: string, { seconds }: Pick<RetentionSettings, "seconds">): number {
  const interval = intervalOf(intervalName);
  const secondsMin = interval === null ? 0 : Math.ceil((firstIntervalMs(interval) * intervalsMin) / 1000);
  return Math.max(seconds, secondsMin);
}

/** The settings by which the queue beside the load is set up and run. */
function queueSettings(settings: RetentionSettings, durationSeconds: number): Settings {
  const { quick, rate, producers, consumers, batch, payloadBytes } = settings;
  const load = { rate, producers, consumers, batch, payloadBytes, sendBatch: 1 };
  // the load is what goes on beside the queue here
  return { ...resolveSettings({ quick, durationSeconds, ...load }), bystanders: 0, bystanderRows: 1 };
}

/** One queue beside the load with one interval, before it is measured. */
export interface RetentionPlan extends SystemPlan {
  /** Milliseconds, `none` or `dynamic`. */
  interval: string;
}

/** What was measured. Null: could not be. */
export interface RetentionFigures {
  /** Of the load, committed. */
  transactions: number;
  transactionsPerSecond: number;
  transactionMs: LatencySummary | null;
  /** What the server has counted of the tables of the load. */
  tables: TpcbCounts;
  /** Pages of index and table that it takes to find a row by its key, when the load has stopped and the slot still holds. */
  buffersPerIndexScan: Record<UpdatedTable, number>;
  /** In all tables of the load, when it has stopped and the slot still holds. */
  tpcbDeadTuples: number;
  queue: {
    sentPerSecond: number;
    finishedPerSecond: number;
    /** From when a message was due to be sent until a consumer had it in hand. */
    latencyMs: LatencySummary | null;
    /** In all tables of the queue, when the load has stopped and the slot still holds; null for one that keeps nothing in PostgreSQL. */
    deadTuples: number | null;
  };
  /** What another session saw of the slot; null without one. */
  slot: AdvancingProof | null;
  /** Of all of the servers' processes, load and queue together. */
  serverCpuSeconds: number | null;
  /** Of the process of the load's clients. */
  tpcbCpuSeconds: number;
  /** Of the process of the queue's producers and consumers, and of the slot's holder. */
  queueCpuSeconds: number;
  /** Of whatever else ran on the machine meanwhile. */
  otherCpuSeconds: number | null;
}

/** The load and a queue beside it, while a slot holds the horizon and moves on. Throws when the figures cannot be used. */
export async function measureRetention(
  { system: name, interval: intervalName }: RetentionPlan,
  { server, settings, signal, note }: StepContext<RetentionSettings>,
): Promise<RetentionFigures> {
  const interval = intervalOf(intervalName);
  const seconds = trialSeconds(intervalName, settings);
  const system = systemNamed(name);
  const own = queueSettings(settings, seconds);
  note("set-up");
  const bench = await openWorkbench(server, system, own);
  const ledger = new DeliveryLedger();
  bench.load.tally.watch = ledger;
  let tpcb: Tpcb | null = null;
  try {
    if (!bench.pgstattuple) throw new NotRun("dead tuples cannot be counted: the extension pgstattuple is missing");
    const { url } = bench.site;
    const load = await Tpcb.open(bench.admin, { url, clients: settings.tpcbClients, scale: settings.scale });
    tpcb = load;
    await server.checkpoint();
    return await whileHeld(await hold(bench, interval), async (holder) => {
      note("load");
      const phase = await withPushed(bench.load.consumers, () => beside(bench, own, { tpcb: load, seconds }, signal));
      const slot = await holder.prove();
      const deadTuples = system.schema === null ? null : (await countDeadTuples(bench.admin, system.schema)).total;
      const tpcbDeadTuples = (await countDeadTuples(bench.admin, tpcbSchema)).total;
      const tables = await load.counts(phase.result);
      const buffers = await buffersPerIndexScan(await bench.connect("look-ups"), settings.scale);
      requireValid(bench, phase, ledger);
      return { ...figuresOf(phase, deadTuples), slot, tables, tpcbDeadTuples, buffersPerIndexScan: buffers };
    });
  } finally {
    await tpcb?.close();
    await bench.close();
  }
}

interface RetentionHolder {
  prove(): Promise<AdvancingProof | null>;
  release(): Promise<void>;
}

async function hold({ site }: Workbench, interval: FeedbackInterval | null): Promise<RetentionHolder> {
  if (interval === null) {
    const holder = await none.hold(site);
    return {
      async prove() {
        await holder.prove();
        return null;
      },
      release: () => holder.release(),
    };
  }
  const holder = await holdAdvancing(site, interval);
  return { prove: async () => holder.prove(), release: () => holder.release() };
}

/** Both for so long; when one of them fails the other is not waited for. */
function beside(
  bench: Workbench,
  settings: Settings,
  { tpcb, seconds }: { tpcb: Tpcb; seconds: number },
  signal: AbortSignal,
): Promise<PhaseMeasurement<TpcbRun>> {
  const drive = async (stop: AbortSignal): Promise<TpcbRun> => {
    const load = new Background(stop);
    const run = tpcb.run(seconds, load.signal);
    load.run(() => run.then(() => undefined));
    try {
      await openLoop(settings.rate)(bench.load, seconds, load.signal);
    } finally {
      await load.stop();
    }
    return run;
  };
  return runPhase(bench, settings, { name: "load", drive, onSample: () => undefined }, signal);
}

function requireValid(
  { load }: Workbench,
  { result, first, last }: PhaseMeasurement<TpcbRun>,
  ledger: DeliveryLedger,
): void {
  if (result.transactions === 0) throw new Error("the load has committed nothing");
  const reason = invalidity({
    enqueued: load.tally.enqueued,
    dequeued: load.tally.dequeued,
    transactionIds: last.transactionIds - first.transactionIds,
    paced: true,
    lateMsP99: load.lateness.summary()?.p99 ?? null,
    mismatch: ledger.surplus(),
  });
  if (reason !== null) throw new Error(reason);
}

function figuresOf(
  phase: PhaseMeasurement<TpcbRun>,
  deadTuples: number | null,
): Omit<RetentionFigures, "slot" | "tables" | "tpcbDeadTuples" | "buffersPerIndexScan"> {
  const { result, first, last, seconds, latency, otherCpuSeconds } = phase;
  return {
    transactions: result.transactions,
    transactionsPerSecond: result.transactions / result.seconds,
    transactionMs: result.latencyMs,
    queue: {
      sentPerSecond: (last.enqueued - first.enqueued) / seconds,
      finishedPerSecond: (last.dequeued - first.dequeued) / seconds,
      latencyMs: latency,
      deadTuples,
    },
    serverCpuSeconds: phase.serverCpuSeconds,
    tpcbCpuSeconds: result.clientCpuSeconds,
    queueCpuSeconds: phase.harnessCpuSeconds,
    otherCpuSeconds: otherCpuSeconds === null ? null : Math.max(0, otherCpuSeconds - result.clientCpuSeconds),
  };
}
