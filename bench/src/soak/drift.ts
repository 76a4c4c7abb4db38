import {
  afterWarmUp,
  growthVerdict,
  theilSen,
  type GrowthVerdict,
  type Slope,
  spreadOf,
} from "../measure/statistics.ts";
import { hoursMin } from "./drift-limits.ts";
import { driftMeasures, type DriftMeasure } from "./drift-measures.ts";
import type { SoakSample } from "./soak-samples.ts";

/** How one measure changed while a system was soaked. */
export interface Drift {
  measure: DriftMeasure["name"];
  /** The median of what was judged: of the peaks, where peaks are. */
  typical: number;
  /** The slope, in the measure's unit per hour; null with too few points for a range. */
  perHour: Slope | null;
  limitPerHour: number;
  verdict: GrowthVerdict;
  /** How many windows, or whole rotations, were judged. */
  points: number;
}

export type Point = [hours: number, value: number];

/**
 * So few that hours of samples cost no more than minutes, and that each stands for itself: samples which follow on one another are alike, and would pass for more
 * evidence than they are.
 */
const pointsMax = 60;

/** Of every measure that was sampled; the first fifth of the samples is left out, and the last, taken when the load has stopped. */
export function driftsOf(samples: SoakSample[], { inPostgres, rate }: { inPostgres: boolean; rate: number }): Drift[] {
  const counted = afterWarmUp(samples.slice(0, -1));
  const hours = ((counted.at(-1)?.seconds ?? 0) - (counted[0]?.seconds ?? 0)) / 3600;
  if (hours === 0) return [];
  return driftMeasures.flatMap((measure): Drift[] => {
    const sampled = measure.stored && !inPostgres ? [] : sampledOf(measure, counted);
    const points = pointsOf(measure, sampled, counted);
    const typical = medianOf(points.length > 0 ? points : sampled);
    if (typical === null) return [];
    const perHour = theilSen(points);
    const limitPerHour = measure.limitPerHour(typical, { messagesPerSecond: rate, hours });
    const found = growthVerdict([{ slope: perHour, limit: limitPerHour }]);
    const verdict = found === "grows" && hours < hoursMin ? "too short to say" : found;
    return [{ measure: measure.name, typical, perHour, limitPerHour, verdict, points: points.length }];
  });
}

const medianOf = (points: Point[]): number | null => spreadOf(points.map(([, value]) => value))?.median ?? null;

const sampledOf = ({ name }: DriftMeasure, samples: SoakSample[]): Point[] =>
  samples.flatMap((sample): Point[] => {
    const value = sample[name];
    return value === null ? [] : [[sample.seconds / 3600, value]];
  });

/** What is judged: medians of windows, or, of a measure that goes up and down like a saw, its peaks. */
function pointsOf({ shape }: DriftMeasure, sampled: Point[], samples: SoakSample[]): Point[] {
  if (shape === "level") return windows(sampled, (points) => medianOf(points) ?? 0);
  const rotates = shape === "rotated" && samples[0]?.rotations !== null;
  const peaks = rotates ? rotationPeaks(sampled, samples) : sampled;
  return windows(peaks, (points) => Math.max(...points.map(([, value]) => value)));
}

/**
 * The highest point of each rotation that was seen from beginning to end. Where a slope through all samples begins and ends within a tooth of the saw decides
 * about its sign; a tooth's height has no phase.
 */
function rotationPeaks(points: Point[], samples: SoakSample[]): Point[] {
  const rotations = Map.groupBy(points, (_, index) => samples[index]?.rotations ?? 0);
  return [...rotations.values()]
    .slice(1, -1)
    .map((own) => own.reduce((highest, point) => (point[1] > highest[1] ? point : highest)));
}

/** One point for each window of as many points, in the middle of it; what is left over at the end is left out. */
function windows(points: Point[], valueOf: (points: Point[]) => number): Point[] {
  const size = Math.max(1, Math.ceil(points.length / pointsMax));
  return Array.from({ length: Math.floor(points.length / size) }, (_, index): Point => {
    const own = points.slice(index * size, (index + 1) * size);
    return [own.reduce((sum, [at]) => sum + at, 0) / size, valueOf(own)];
  });
}
