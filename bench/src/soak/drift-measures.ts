import { bytes, ms, whole } from "../report/format.ts";
import { bytesLimit, deadTuplesLimit, p99Limit, type Load } from "./drift-limits.ts";

/** What must not drift. */
export interface DriftMeasure {
  /** Of the samples. */
  name: "deadTuples" | "bytes" | "latencyP99Ms" | "clientRssBytes" | "clientHeapBytes" | "serverMemoryBytes";
  title: string;
  /** Stays about where it is; or goes up and down like a saw, with every vacuum, or with every rotation. */
  shape: "level" | "vacuumed" | "rotated";
  /** Of what a system keeps in PostgreSQL. */
  stored: boolean;
  format: (value: number) => string;
  /** Growth below it does not matter; `typical` is the measure's own median. */
  limitPerHour: (typical: number, load: Load) => number;
}

const memory = {
  shape: "level",
  stored: false,
  format: bytes,
  limitPerHour: bytesLimit,
} as const;

export const driftMeasures: DriftMeasure[] = [
  {
    name: "deadTuples",
    title: "dead tuples",
    shape: "vacuumed",
    stored: true,
    format: whole,
    limitPerHour: deadTuplesLimit,
  },
  {
    name: "bytes",
    title: "size on disk",
    shape: "rotated",
    stored: true,
    format: bytes,
    limitPerHour: bytesLimit,
  },
  {
    name: "latencyP99Ms",
    title: "latency p99",
    shape: "level",
    stored: false,
    format: ms,
    limitPerHour: p99Limit,
  },
  { name: "clientRssBytes", title: "memory", ...memory },
  { name: "clientHeapBytes", title: "heap", ...memory },
  { name: "serverMemoryBytes", title: "server memory", ...memory },
];

export function driftMeasureNamed(name: DriftMeasure["name"]): DriftMeasure {
  const found = driftMeasures.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}
