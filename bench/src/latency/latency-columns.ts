import type { LatencySummary } from "../measure/histogram.ts";
import { ms, ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/rows-table.ts";
import { spreadOf } from "../report/summary.ts";
import { reference, type LatencyRow } from "./latency-summary.ts";

const at =
  (pick: (summary: LatencySummary) => number) =>
  ({ measured }: LatencyRow): string =>
    spread(spreadOf(measured.map(({ latencyMs }) => latencyMs && pick(latencyMs))), ms);

/** How many columns of the table are text. */
export const textColumns = 2;

export const columns: Column<LatencyRow>[] = [
  { head: "system", cell: ({ system }) => system.name },
  { head: "messages/s", cell: ({ messagesPerSecond }) => whole(messagesPerSecond) },
  { head: "p50", cell: at(({ p50 }) => p50) },
  { head: "p95", cell: at(({ p95 }) => p95) },
  { head: "p99", cell: at(({ p99 }) => p99) },
  { head: "p99.9", cell: at(({ p999 }) => p999) },
  { head: "max", cell: at(({ max }) => max) },
  {
    head: "p50, pgque / this",
    cell: (row) => (row.system.name === reference ? "" : spread(row.ratio, ratio)),
  },
  {
    head: "sent late, p50",
    cell: ({ measured }) => spread(spreadOf(measured.map(({ latenessMs }) => latenessMs?.p50)), ms),
  },
];
