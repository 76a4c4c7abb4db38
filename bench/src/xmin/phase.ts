import { Background } from "../load/background.ts";
import { Latencies, type LatencySummary } from "../measure/histogram.ts";
import { startCpuUse, type CpuUsed } from "../measure/processes.ts";
import { bystand } from "../measure/bystander.ts";
import type { Sample } from "../measure/sampler.ts";
import type { Settings } from "./xmin-settings.ts";
import type { Workbench } from "./workbench.ts";

/** What happened from the first to the last sample of a phase. */
export interface PhaseMeasurement<T> extends CpuUsed {
  result: T;
  seconds: number;
  /** Messages that were due and never sent. */
  unsent: number;
  first: Sample;
  last: Sample;
  samples: Sample[];
  latency: LatencySummary | null;
  bystander: LatencySummary | null;
}

/**
 * Runs a load with everything that goes on beside it: maintenance, bystanders, samples. Nothing of all this goes on between
 * phases. `onSample` is called at every sample.
 */
export async function runPhase<T>(
  bench: Workbench,
  settings: Settings,
  phase: {
    name: string;
    drive: (signal: AbortSignal) => Promise<T>;
    onSample: (sample: Sample) => void | Promise<void>;
  },
  outer: AbortSignal,
): Promise<PhaseMeasurement<T>> {
  const bystander = new Latencies();
  bench.load.tally.latency = new Latencies();
  const from = bench.sampler.samples.length;
  const unsent = bench.load.tally.unsent;
  const cpu = await startCpuUse(bench.serverCpu);
  const sample = async (): Promise<Sample> => {
    const taken = await bench.sampler.sample(phase.name);
    await phase.onSample(taken);
    return taken;
  };
  const first = await sample();
  const startMs = performance.now();
  const beside = new Background(outer);
  startBeside(beside, bench, settings, bystander, sample);
  let result: T;
  let seconds: number;
  try {
    result = await phase.drive(beside.signal);
    seconds = (performance.now() - startMs) / 1000;
  } finally {
    await beside.stop();
  }
  const used = await cpu.used();
  const last = await sample();
  const samples = bench.sampler.samples.slice(from);
  return {
    result,
    seconds,
    unsent: bench.load.tally.unsent - unsent,
    first,
    last,
    samples,
    latency: bench.load.tally.latency.summary(),
    bystander: bystander.summary(),
    ...used,
  };
}

function startBeside(
  beside: Background,
  bench: Workbench,
  settings: Settings,
  bystander: Latencies,
  sample: () => Promise<unknown>,
): void {
  const { maintain, maintainSeconds = 1 } = bench.system;
  if (maintain) beside.every(maintainSeconds, maintain);
  const latency = {
    record(ms: number) {
      bystander.record(ms);
      bench.sampler.bystander.record(ms);
    },
  };
  const options = { rows: settings.bystanderRows, perSecond: settings.bystanderRate, latency };
  for (const client of bench.bystanders) beside.run((signal) => bystand(client, options, signal));
  beside.every(settings.sampleSeconds, sample);
}
