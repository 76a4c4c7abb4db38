import type { Spread } from "../report/results.ts";
import type { MemorySample } from "../scenarios/drain/process.ts";

/** Null when either is not known or there is nothing to divide by. */
export function quotient(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null || divisor === 0 ? null : dividend / divisor;
}

/** Over what was measured; null when nothing was. */
export function spreadOf(values: (number | null | undefined)[]): Spread | null {
  const sorted = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? min;
  const lower = sorted[Math.ceil(middle) - 1] ?? min;
  return { median: (lower + upper) / 2, min, max };
}

/** How fast something grows: the slope, and the range that it is in with a probability of 95 %. */
export interface Slope {
  median: number;
  min: number;
  max: number;
}

export type GrowthVerdict = "flat" | "grows" | "too short to say";

/** Code is compiled and caches are filled at first: the rest of the samples. */
export function afterWarmUp<T>(samples: readonly T[]): T[] {
  const warmUpShare = 0.2;
  return samples.slice(Math.ceil(samples.length * warmUpShare));
}

/** Flat: the whole range of each slope is below its limit. Grows: of one it is above. In between there was too little to say. */
export function growthVerdict(slopes: { slope: Slope | null; limit: number }[]): GrowthVerdict {
  if (slopes.some(({ slope, limit }) => slope !== null && slope.min >= limit)) return "grows";
  return slopes.every(({ slope, limit }) => slope !== null && slope.max < limit) ? "flat" : "too short to say";
}

/**
 * The median of the slopes between every two points, which a few that lie far off do not move, and its range after Sen (1968). Takes time and memory
 * with the square of the number of points.
 */
export function theilSen(points: [x: number, y: number][]): Slope | null {
  const slopes = points
    .flatMap(([x, y], index) => points.slice(index + 1).map(([laterX, laterY]) => (laterY - y) / (laterX - x)))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const n = points.length;
  const half = (1.96 * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)) / 2;
  const [low, high] = [Math.floor(slopes.length / 2 - half), Math.ceil(slopes.length / 2 + half)];
  const [min, median, max] = [slopes[low], slopes[Math.floor(slopes.length / 2)], slopes[high]];
  return min === undefined || median === undefined || max === undefined ? null : { median, min, max };
}

/** What became of a process's memory while it drained. */
export interface Growth {
  rssBytesPerMessage: Slope | null;
  heapBytesPerMessage: Slope | null;
  verdict: GrowthVerdict;
  samples: MemorySample[];
}

/** Whatever is kept of every message, a pointer to it is. */
export const pointerBytes = 8;

/** Judged by heap and RSS, each of which may grow by less than a pointer a message. */
export function growthOf(samples: MemorySample[]): Growth {
  const counted = afterWarmUp(samples);
  const rss = theilSen(counted.map(({ handled, rssBytes }) => [handled, rssBytes]));
  const heap = theilSen(counted.map(({ handled, heapBytes }) => [handled, heapBytes]));
  const verdict = growthVerdict([rss, heap].map((slope) => ({ slope, limit: pointerBytes })));
  return { rssBytesPerMessage: rss, heapBytesPerMessage: heap, verdict, samples };
}
