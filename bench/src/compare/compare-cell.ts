import { systemNamed } from "../adapters/registry.ts";
import { horizonNamed } from "../horizons/registry.ts";
import type { PhaseMeasurement } from "../xmin/phase.ts";
import { evidenceOf, invalidity } from "../xmin/verdict.ts";
import { measureXmin, type Measured } from "../xmin/xmin-cell.ts";
import type { StepContext } from "../scenario/scenario.ts";
import type { CompareFigures, SaturatedFigures } from "./compare-results.ts";
import { partSettings, type CompareSettings } from "./compare-settings.ts";

/** Two cells of the scenario xmin: saturated, then at a rate that leaves consumers idle. Throws when the figures cannot be used. */
export async function measureCompared(
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
