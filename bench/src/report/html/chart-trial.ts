import type { Sample } from "../../measure/sampler.ts";
import type { ChartTrial, ChartGroup } from "./chart-data.ts";
import type { MeasureName } from "./measures.ts";

/** Two samples that are closer than this do not tell a rate: at the ends of phases. */
const rateSecondsMin = 0.2;

/** A sample, and what a scenario has sampled beside what all do. */
export type ChartSample = Pick<Sample, "phase" | "seconds" | "enqueued" | "dequeued"> &
  Partial<Record<MeasureName, number | null>>;

/** Trials that share their charts: with a label, the phase `zero` is shaded until the last of them has ended it. */
export function chartGroup(
  measured: {
    trial: { system: string; repeat: number; error: string | null; skipped?: string | null };
    samples: readonly ChartSample[];
  }[],
  { title, label, zero, names }: { title: string; label: string | null; zero: string; names: readonly MeasureName[] },
): ChartGroup {
  const sampled = measured.filter(({ samples }) => samples.length > 0);
  return {
    title,
    span:
      label === null
        ? null
        : {
            label,
            fromSeconds: 0,
            untilSeconds: Math.max(0, ...sampled.map(({ samples }) => phaseSeconds(samples, zero))),
          },
    trials: sampled.map(({ trial: { system, repeat, error }, samples }) =>
      chartTrial({ system, repeat, invalid: error !== null }, samples, names, zero),
    ),
    notes: measured.flatMap(({ trial: { system, repeat, error, skipped } }) => {
      const reason = skipped ? `skipped, because ${skipped}` : error;
      return reason === null ? [] : [`${system}, repeat ${repeat}: ${reason}`];
    }),
  };
}

/** The lines of one trial. Time runs from the first sample of the phase `zero`. */
export function chartTrial(
  trial: Pick<ChartTrial, "system" | "repeat" | "invalid">,
  samples: readonly ChartSample[],
  names: readonly MeasureName[],
  zero: string,
): ChartTrial {
  const from = samples.find(({ phase }) => phase === zero)?.seconds ?? 0;
  return {
    ...trial,
    seconds: samples.map(({ seconds }) => rounded(seconds - from)),
    values: Object.fromEntries(
      names.map((name) => [name, samples.map((sample, index) => valueOf(name, sample, samples[index - 1]))]),
    ),
  };
}

/** How long a phase lasted, by its samples. */
export function phaseSeconds(samples: readonly ChartSample[], phase: string): number {
  const own = samples.filter((sample) => sample.phase === phase);
  return rounded((own.at(-1)?.seconds ?? 0) - (own[0]?.seconds ?? 0));
}

function valueOf(name: MeasureName, sample: ChartSample, before: ChartSample | undefined): number | null {
  if (name === "sentPerSecond") return rate(sample, before, ({ enqueued }) => enqueued);
  if (name === "finishedPerSecond") return rate(sample, before, ({ dequeued }) => dequeued);
  const value = sample[name] ?? null;
  return value === null ? null : rounded(value);
}

/** Nothing is sent between phases, and how long that is says nothing. */
function rate(
  sample: ChartSample,
  before: ChartSample | undefined,
  count: (sample: ChartSample) => number,
): number | null {
  if (before === undefined || before.phase !== sample.phase) return null;
  const seconds = sample.seconds - before.seconds;
  return seconds < rateSecondsMin ? null : rounded((count(sample) - count(before)) / seconds);
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
