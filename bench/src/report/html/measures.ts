import type { Measure } from "./chart-data.ts";

/** What may be sampled over time and drawn. A scenario names those that it samples, in the order of its page. */
const known = [
  { name: "depth", title: "Backlog, messages", unit: "count", figures: "backlog at most" },
  { name: "deadTuples", title: "Dead tuples", unit: "count", figures: "dead tuples" },
  { name: "bytes", title: "Size on disk", unit: "bytes", figures: "on disk" },
  { name: "sentPerSecond", title: "Sent per second", unit: "count", figures: "sent/s" },
  { name: "finishedPerSecond", title: "Finished per second", unit: "count", figures: "finished per second" },
  { name: "latencyP50Ms", title: "Latency, p50", unit: "ms", figures: "latency p50" },
  { name: "latencyP99Ms", title: "Latency, p99", unit: "ms", figures: "latency p99" },
  { name: "lockP50Ms", title: "Time to pick and lock a message, p50", unit: "ms", figures: "lock time, end" },
  { name: "lockP99Ms", title: "Time to pick and lock a message, p99", unit: "ms", figures: "lock time p99" },
  {
    name: "oldestTransactionSeconds",
    title: "Age of the oldest transaction",
    unit: "s",
    figures: "oldest transaction",
  },
  { name: "clientRssBytes", title: "Memory of the client process", unit: "bytes", figures: "memory" },
  { name: "clientHeapBytes", title: "Heap of the client process", unit: "bytes", figures: "heap" },
  { name: "serverMemoryBytes", title: "Memory of the server's processes", unit: "bytes", figures: "server memory" },
  { name: "bystanderP50Ms", title: "Bystander latency, p50", unit: "ms", figures: "bystander p50" },
  { name: "bystanderP99Ms", title: "Bystander latency, p99", unit: "ms", figures: "bystander p99" },
] as const satisfies Measure[];

export type MeasureName = (typeof known)[number]["name"];

/** In the order of the names. */
export const measuresNamed = (names: readonly MeasureName[]): Measure[] =>
  names.flatMap((name) => known.filter((measure) => measure.name === name));
