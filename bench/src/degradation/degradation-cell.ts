import { clock, ms, whole } from "../report/format.ts";
import { horizonNamed } from "../horizons/registry.ts";
import { quotient } from "../measure/statistics.ts";
import { measuredCell } from "../runner/cells.ts";
import type { StepContext } from "../runner/scenario.ts";
import { evidenceOf, invalidity } from "../xmin/verdict.ts";
import { measureXmin, type CellHooks, type Measured } from "../xmin/xmin-cell.ts";
import type {
  DegradationCell,
  DegradationFigures,
  DegradationPlan,
  DegradationSamples,
} from "./degradation-results.ts";
import { cellSettings, longTransaction, type DegradationSettings } from "./degradation-settings.ts";
import { degradedSystems, named } from "../adapters/registry.ts";
import { LockTimes, tellingLockTimes } from "./lock-times.ts";
import { fellBehind, ranAwayAfter } from "./runaway.ts";

export interface MeasuredDegradation {
  cell: DegradationCell;
  /** Also of a cell that failed: what there was until then. */
  samples: DegradationSamples;
}

/** A steady load, clean at first and then with a transaction open that nobody ends. Throws when it is stopped; any other failure is the cell's. */
export async function measureDegradation(
  plan: DegradationPlan,
  context: StepContext<DegradationSettings>,
): Promise<MeasuredDegradation> {
  const { server, settings, signal, note } = context;
  const samples: DegradationSamples = { ...plan, samples: [] };
  const cell = await measuredCell(plan, context, async () => {
    const degraded = named(degradedSystems, plan.system);
    const own = cellSettings(settings, degraded);
    const times = new LockTimes(settings);
    const system = tellingLockTimes(degraded.system, times);
    note("set-up");
    const hooks = hooksOf(times, samples, settings, note);
    const measured = await measureXmin(server, system, horizonNamed(longTransaction), own, hooks, signal);
    const reason = invalidity(evidenceOf(measured, own));
    if (reason !== null) throw new Error(reason);
    return figuresOf(measured, times, settings);
  });
  return { cell, samples };
}

function hooksOf(
  times: LockTimes,
  { samples }: DegradationSamples,
  { rate, cleanSeconds }: DegradationSettings,
  note: (text: string) => void,
): CellHooks {
  return {
    onPhase(phase) {
      const reason = phase === "held" ? fellBehind(samples.at(-1)?.dequeued ?? 0, cleanSeconds, rate) : null;
      if (reason !== null) throw new Error(reason);
      times.enter(phase);
      note(phase);
    },
    onSample(sample) {
      // the load has stopped and the transaction has ended
      if (sample.phase === "recovery") return;
      const lock = times.sinceSample.take();
      samples.push({ ...sample, lockP50Ms: lock?.p50 ?? null, lockP99Ms: lock?.p99 ?? null });
      const locks = lock === null ? "" : `, ${ms(lock.p50)} to lock one`;
      note(`${sample.phase}, ${clock(sample.seconds)}, backlog ${whole(sample.depth)}${locks}`);
    },
  };
}

function figuresOf(measured: Measured, times: LockTimes, { rate }: DegradationSettings): DegradationFigures {
  const { clean, held } = measured;
  const [lockCleanMs, lockEndMs] = [times.clean.summary(), times.end.summary()];
  return {
    backlogEnd: held.last.depth,
    backlogMax: Math.max(...held.samples.map(({ depth }) => depth)),
    ranAwaySeconds: ranAwayAfter(held.samples, rate),
    lockCleanMs,
    lockEndMs,
    lockRatio: quotient(lockEndMs?.p50 ?? null, lockCleanMs?.p50 ?? null),
    deadTuples: measured.dead.total,
    sentPerSecond: (held.last.enqueued - held.first.enqueued) / held.seconds,
    finishedPerSecond: finished(held) / held.seconds,
    finishedPerSecondClean: finished(clean) / clean.seconds,
    serverCpuMicrosPerMessage: cpuMicros(held),
    serverCpuMicrosPerMessageClean: cpuMicros(clean),
    latencyMs: held.latency,
    bytes: held.last.bytes,
    oldestTransactionSeconds: held.last.oldestTransactionSeconds,
  };
}

const finished = ({ first, last }: Measured["held"]): number => last.dequeued - first.dequeued;

const cpuMicros = (phase: Measured["held"]): number | null =>
  quotient(phase.serverCpuSeconds === null ? null : phase.serverCpuSeconds * 1_000_000, finished(phase));
