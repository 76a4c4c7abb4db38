import { cpuMs } from "../report/cpu-ms.ts";
import { bytes, ms, ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/rows-table.ts";
import { spreadOf } from "../report/summary.ts";
import { publishedFor } from "./published.ts";
import type { ThroughputLoad } from "./throughput-loads.ts";
import type { ThroughputFigures } from "./throughput-results.ts";
import { reference, type ThroughputRow } from "./throughput-summary.ts";

const figure =
  (pick: (figures: ThroughputFigures) => number | null | undefined, format: (value: number) => string) =>
  ({ measured }: ThroughputRow): string =>
    spread(spreadOf(measured.map(pick)), format);

/** As in "send 1 a call, 16 clients". */
export function loadText({ kind, perCall, clients }: ThroughputLoad): string {
  return `${kind} ${whole(perCall)} a call${clients > 1 ? `, ${clients} clients` : ""}`;
}

function published({ load }: ThroughputRow): string {
  const messagesPerSecond = publishedFor(load);
  return messagesPerSecond === undefined ? "" : whole(messagesPerSecond);
}

/** A batch that is one row of its own is a fraction of a byte for each message. */
const walBytes = (value: number): string => `${value < 10 ? value.toFixed(1) : whole(value)} B`;

/** How many columns of the table are text. */
export const textColumns = 3;

export const columns: Column<ThroughputRow>[] = [
  { head: "load", cell: ({ load }) => loadText(load) },
  { head: "payload", cell: ({ load }) => bytes(load.payloadBytes) },
  { head: "system", cell: ({ system }) => system },
  { head: "messages/s", cell: figure(({ messagesPerSecond }) => messagesPerSecond, whole) },
  { head: `${reference} / this`, cell: (row) => (row.system === reference ? "" : spread(row.ratio, ratio)) },
  { head: "PgQue, published", cell: published },
  { head: "server CPU / 1,000", cell: figure((figures) => figures.serverCpuSecondsPerThousand, cpuMs) },
  { head: "client CPU / 1,000", cell: figure((figures) => figures.clientCpuSecondsPerThousand, cpuMs) },
  { head: "WAL/message", cell: figure(({ walBytesPerMessage }) => walBytesPerMessage, walBytes) },
  { head: "dead tuples", cell: figure(({ deadTuples }) => deadTuples, whole) },
  { head: "call, p50", cell: figure(({ calls }) => calls?.p50Ms, ms) },
];
