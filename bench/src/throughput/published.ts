import type { ThroughputLoad } from "./throughput-loads.ts";

/** Where the published figures come from, for every place that shows one. */
export const publishedNote =
  "Published: what PgQue (pgq-universal here) gives for itself, by 16 clients with one message a transaction and in batches of 100,000, on an " +
  "Apple machine of 10 cores with PostgreSQL 18 and synchronous_commit off: what that machine does, and nothing to divide by.";

const figures: (Pick<ThroughputLoad, "kind" | "payloadBytes"> & { batched: boolean; messagesPerSecond: number })[] = [
  { kind: "send", batched: false, payloadBytes: 100, messagesPerSecond: 85_836 },
  { kind: "send", batched: true, payloadBytes: 100, messagesPerSecond: 80_515 },
  { kind: "send", batched: true, payloadBytes: 2048, messagesPerSecond: 48_899 },
  { kind: "receive", batched: true, payloadBytes: 100, messagesPerSecond: 2_400_000 },
  { kind: "receive", batched: true, payloadBytes: 2048, messagesPerSecond: 305_000 },
];

/** Messages a second under the same kind of load and with as large a payload; undefined where none was published. */
export function publishedFor({ kind, payloadBytes, perCall }: ThroughputLoad): number | undefined {
  return figures.find(
    (figure) => figure.kind === kind && figure.payloadBytes === payloadBytes && figure.batched === perCall > 1,
  )?.messagesPerSecond;
}
