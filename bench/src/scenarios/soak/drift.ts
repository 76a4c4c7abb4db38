import type { Sample } from "../../measure/sampler.ts";
import {
  afterWarmUp,
  growthVerdict,
  spreadOf,
  theilSen,
  type GrowthVerdict,
  type Slope,
} from "../../measure/statistics.ts";
import { bytes, ms, whole } from "../../report/format.ts";

/** One look at everything, and at what a soak is about besides. Null: could not be seen. */
export interface SoakSample extends Sample {
  /** Of the process of producers, consumers and the harness itself. */
  clientRssBytes: number;
  /** Of the same, when its garbage was collected; null in between. */
  clientHeapBytes: number | null;
  /** What the server's processes have for themselves: no shared buffers. */
  serverMemoryBytes: number | null;
}

/**
 * Memory and disk: what comes to a GiB in a week, the time between two releases or restarts, for which servers have room. At 800 messages/s these are 2.2 bytes a
 * message: less than a pointer to each, or a row that stays of any twenty.
 */
export const bytesPerHourMax = 2 ** 30 / (7 * 24);

/**
 * What is judged has to last so long before anything is said to grow. Whatever is new grows for minutes: code is compiled, heaps find their size, backends fill
 * their caches; and a minute of another program's work is half of a short run.
 */
export const hoursMin = 0.25;

/** An engine that leaves a dead tuple of every message leaves a thousand times as many. */
export const deadTuplesPerMessageMax = 1 / 1000;

/** A tenth of itself over the time counted: windows scatter by as much, and the longer a soak, the less an hour may add. */
export const p99ShareMax = 0.1;

/** What must not drift. */
interface DriftMeasure {
  title: string;
  /** Stays about where it is; or goes up and down like a saw, with every vacuum, or with every rotation. */
  shape: "level" | "vacuumed" | "rotated";
  /** Of what a system keeps in PostgreSQL. */
  stored: boolean;
  format: (value: number) => string;
  /** Growth below it does not matter; `typical` is the measure's own median, `hours` how long the samples that are counted lasted. */
  limitPerHour: (typical: number, load: { messagesPerSecond: number; hours: number }) => number;
}

const memory = { shape: "level", stored: false, format: bytes, limitPerHour: () => bytesPerHourMax } as const;

/** By their names in the samples. */
export const driftMeasures = {
  deadTuples: {
    title: "dead tuples",
    shape: "vacuumed",
    stored: true,
    format: whole,
    limitPerHour: (_typical, { messagesPerSecond }) => messagesPerSecond * 3600 * deadTuplesPerMessageMax,
  },
  bytes: { ...memory, title: "size on disk", shape: "rotated", stored: true },
  latencyP99Ms: {
    title: "latency p99",
    shape: "level",
    stored: false,
    format: ms,
    limitPerHour: (typical, { hours }) => (typical * p99ShareMax) / hours,
  },
  clientRssBytes: { ...memory, title: "memory" },
  clientHeapBytes: { ...memory, title: "heap" },
  serverMemoryBytes: { ...memory, title: "server memory" },
} as const satisfies Record<string, DriftMeasure>;

export type DriftName = keyof typeof driftMeasures;

/** How one measure changed while a system was soaked. */
export interface Drift {
  measure: DriftName;
  /** The median of what was judged: of the peaks, where peaks are. */
  typical: number;
  /** The slope, in the measure's unit per hour; null with too few points for a range. */
  perHour: Slope | null;
  limitPerHour: number;
  verdict: GrowthVerdict;
  /** How many windows, or whole rotations, were judged. */
  points: number;
}

type Point = [hours: number, value: number];

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
  return Object.entries<DriftMeasure>(driftMeasures).flatMap(([key, measure]): Drift[] => {
    const name = key as DriftName;
    const sampled = measure.stored && !inPostgres ? [] : sampledOf(name, counted);
    const points = pointsOf(measure, sampled, counted);
    const typical = medianOf(points.length > 0 ? points : sampled);
    if (typical === null) return [];
    const perHour = theilSen(points);
    const limitPerHour = measure.limitPerHour(typical, { messagesPerSecond: rate, hours });
    const found = growthVerdict([{ slope: perHour, limit: limitPerHour }]);
    const verdict = found === "grows" && hours < hoursMin ? "too short to say" : found;
    return [{ measure: name, typical, perHour, limitPerHour, verdict, points: points.length }];
  });
}

const medianOf = (points: Point[]): number | null => spreadOf(points.map(([, value]) => value))?.median ?? null;

const sampledOf = (name: DriftName, samples: SoakSample[]): Point[] =>
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
