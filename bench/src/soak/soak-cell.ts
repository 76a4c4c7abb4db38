import { quotient } from "../measure/statistics.ts";
import { systemNamed } from "../adapters/registry.ts";
import { horizonNamed } from "../horizons/registry.ts";
import type { CellPlan } from "../xmin/xmin-results.ts";
import { bytes, clock, ms, whole } from "../report/format.ts";
import { whileHeld } from "../horizons/held.ts";
import { drain, withPushed, type DriveResult, openLoop } from "../load/load.ts";
import { flushStatistics, deadTuplesIn } from "../measure/relations.ts";
import type { StepContext } from "../runner/scenario.ts";
import { runPhase, type PhaseMeasurement } from "../xmin/phase.ts";
import { openWorkbench, type Workbench } from "../xmin/workbench.ts";
import { driftsOf } from "./drift.ts";
import type { SoakFigures } from "./soak-results.ts";
import { keepingSamples, type SoakSample } from "./soak-samples.ts";
import { workbenchSettings, type SoakSettings } from "./soak-settings.ts";
import { soakInvalidity } from "./soak-verdict.ts";
import { SoakWatch } from "./soak-watch.ts";

/** The phase that is judged. */
export const soakPhase = "soak";

/** What is under way when sending ends is given so long, and what has not come by then is lost. */
const drainSecondsMax = 60;

/**
 * One system at a steady rate with the horizon held all the time; then, with nothing more sent, until nothing is left. Samples go to `samples` as they are
 * taken, and stay there whatever happens. Throws when the figures cannot be used.
 */
export async function measureSoak(
  { system: systemName, horizon: horizonName }: CellPlan,
  { server, settings, signal, note }: StepContext<SoakSettings>,
  samples: SoakSample[],
): Promise<SoakFigures> {
  const [system, horizon] = [systemNamed(systemName), horizonNamed(horizonName)];
  const own = workbenchSettings(settings);
  note("set-up");
  const bench = await openWorkbench(server, system, own);
  try {
    const watch = new SoakWatch();
    bench.load.tally.watch = watch;
    const keep = await keepingSamples(bench, watch, samples);
    const phase = <T>(name: string, drive: (stop: AbortSignal) => Promise<T>): Promise<PhaseMeasurement<T>> =>
      runPhase(bench, own, { name, drive, onSample: async (sample) => note(noteOf(await keep(sample))) }, signal);
    await horizon.check?.(bench.site);
    const { soak, dead } = await whileHeld(await horizon.hold(bench.site), async (holder) => {
      await holder.prove();
      const soak = await withPushed(bench.load.consumers, () =>
        phase(soakPhase, (stop) => openLoop(settings.rate)(bench.load, settings.seconds, stop)),
      );
      await holder.prove();
      await flushStatistics(bench.clients, server.major);
      return { soak, dead: await deadTuplesIn(bench.admin, system.schema, bench.pgstattuple) };
    });
    await phase("drain", (stop) => drain(bench.load, drainSecondsMax, stop));
    const inPostgres = system.schema !== null;
    const reason = invalidityOf(bench, soak, inPostgres, watch, settings);
    if (reason !== null) throw new Error(reason);
    const drifts = driftsOf(
      samples.filter((sample) => sample.phase === soakPhase),
      { inPostgres, rate: settings.rate },
    );
    return { ...figuresOf(bench, soak, inPostgres), deadTuples: inPostgres ? dead.total : null, drifts };
  } finally {
    await bench.close();
  }
}

const noteOf = ({ phase, seconds, dequeued, depth, deadTuples, bytes: size, latencyP99Ms }: SoakSample): string =>
  `${phase}, ${clock(seconds)}, ${whole(dequeued)} finished, backlog ${whole(depth)}, ${whole(deadTuples)} dead, ` +
  `${bytes(size)}${latencyP99Ms === null ? "" : `, p99 ${ms(latencyP99Ms)}`}`;

function invalidityOf(
  { load }: Workbench,
  { first, last, seconds }: PhaseMeasurement<DriveResult>,
  inPostgres: boolean,
  watch: SoakWatch,
  { rate }: SoakSettings,
): string | null {
  return soakInvalidity({
    rate,
    seconds,
    enqueued: load.tally.enqueued,
    dequeued: load.tally.dequeued,
    transactionIds: inPostgres ? last.transactionIds - first.transactionIds : null,
    lateMsP99: load.lateness.summary()?.p99 ?? null,
    depthAtEnd: last.depth,
    mismatch: watch.mismatch(),
  });
}

function figuresOf(
  { load }: Workbench,
  { first, last, seconds, samples, latency, serverCpuSeconds, otherCpuSeconds }: PhaseMeasurement<DriveResult>,
  inPostgres: boolean,
): Omit<SoakFigures, "deadTuples" | "drifts"> {
  const finished = last.dequeued - first.dequeued;
  return {
    seconds,
    sentPerSecond: (last.enqueued - first.enqueued) / seconds,
    finishedPerSecond: finished / seconds,
    depthMax: Math.max(...samples.map(({ depth }) => depth)),
    latencyMs: latency,
    bytesReclaimed: inPostgres ? last.bytesReclaimed - first.bytesReclaimed : null,
    rotations: last.rotations === null ? null : last.rotations - (first.rotations ?? 0),
    serverCpuMicrosPerMessage: serverCpuSeconds === null ? null : quotient(serverCpuSeconds * 1_000_000, finished),
    otherCpuSeconds,
    lateMs: load.lateness.summary(),
  };
}
