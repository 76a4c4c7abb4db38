import {
  holdAdvancing,
  type AdvancingProof,
  firstIntervalMs,
  type FeedbackInterval,
} from "../horizons/advancing-feedback.ts";
import { none } from "../horizons/none.ts";
import { whileHeld } from "../horizons/held.ts";
import { Background } from "../load/background.ts";
import { withPushed, openLoop } from "../load/load.ts";
import { MessageBooks } from "../load/tally.ts";
import { countDeadTuples } from "../measure/relations.ts";
import { systemNamed } from "../adapters/registry.ts";
import type { StepContext } from "../runner/scenario.ts";
import { runPhase, type PhaseMeasurement } from "../scenarios/xmin/workbench.ts";
import { invalidity } from "../scenarios/xmin/results.ts";
import { openWorkbench, type Workbench } from "../scenarios/xmin/workbench.ts";
import { NotRun } from "../runner/failure.ts";
import type { Settings } from "../scenarios/xmin/settings.ts";
import { buffersPerIndexScan } from "./look-ups.ts";
import type { RetentionFigures, RetentionPlan } from "./retention-results.ts";
import { intervalOf, queueSettings, type RetentionSettings } from "./retention-settings.ts";
import { Tpcb } from "./tpcb.ts";
import type { TpcbRun } from "./tpcb-process.ts";
import { tpcbSchema } from "./tpcb-tables.ts";

/** A cell that is shorter does not see its interval begin, end, and go on. */
const intervalsMin = 2.5;

type Context = StepContext<RetentionSettings>;

/** The load and a queue beside it, while a slot holds the horizon and moves on. Throws when the figures cannot be used. */
export async function measureRetention(
  { system: name, interval: intervalName }: RetentionPlan,
  { server, settings, signal, note }: Context,
): Promise<RetentionFigures> {
  const interval = intervalOf(intervalName);
  needsTime(interval, settings.seconds);
  const system = systemNamed(name);
  const own = queueSettings(settings);
  note("set-up");
  const bench = await openWorkbench(server, system, own);
  const books = new MessageBooks();
  bench.load.tally.watch = books;
  let tpcb: Tpcb | null = null;
  try {
    if (!bench.pgstattuple) throw new NotRun("dead tuples cannot be counted: the extension pgstattuple is missing");
    const { url } = bench.site;
    const load = await Tpcb.open(bench.admin, { url, clients: settings.tpcbClients, scale: settings.scale });
    tpcb = load;
    await server.checkpoint();
    return await whileHeld(await hold(bench, interval), async (holder) => {
      note("load");
      const phase = await withPushed(bench.load.consumers, () =>
        beside(bench, own, { tpcb: load, seconds: settings.seconds }, signal),
      );
      const slot = await holder.prove();
      const deadTuples = system.schema === null ? null : (await countDeadTuples(bench.admin, system.schema)).total;
      const tpcbDeadTuples = (await countDeadTuples(bench.admin, tpcbSchema)).total;
      const tables = await load.counts(phase.result);
      const buffers = await buffersPerIndexScan(await bench.connect("look-ups"), settings.scale);
      requireValid(bench, phase, books);
      return { ...figuresOf(phase, deadTuples), slot, tables, tpcbDeadTuples, buffersPerIndexScan: buffers };
    });
  } finally {
    await tpcb?.close();
    await bench.close();
  }
}

/** @throws NotRun when the cells are too short for it */
function needsTime(interval: FeedbackInterval | null, seconds: number): void {
  if (interval === null) return;
  const secondsMin = Math.ceil((firstIntervalMs(interval) * intervalsMin) / 1000);
  if (seconds >= secondsMin) return;
  throw new NotRun(
    `a cell of ${seconds} s is shorter than ${intervalsMin} of its intervals: --duration ${secondsMin} or more`,
  );
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
  books: MessageBooks,
): void {
  if (result.transactions === 0) throw new Error("the load has committed nothing");
  const reason = invalidity({
    enqueued: load.tally.enqueued,
    dequeued: load.tally.dequeued,
    transactionIds: last.transactionIds - first.transactionIds,
    paced: true,
    lateMsP99: load.lateness.summary()?.p99 ?? null,
    mismatch: books.surplus(),
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
