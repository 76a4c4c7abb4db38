import { bytes, ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/rows-table.ts";
import { spreadOf } from "../report/summary.ts";
import { cpuMs } from "../report/cpu-ms.ts";
import type { DrainFigures } from "./drain-results.ts";
import { reference, verdictOf, type DrainRow } from "./drain-summary.ts";

const figure =
  (pick: (figures: DrainFigures) => number | null | undefined, format: (value: number) => string) =>
  ({ measured }: DrainRow): string =>
    spread(spreadOf(measured.map(pick)), format);

/** The row of what the others are compared with says nothing. */
const compared =
  (pick: (row: DrainRow) => DrainRow["ratio"]) =>
  (row: DrainRow): string =>
    row.system.name === reference ? "" : spread(pick(row), ratio);

/** How many columns of the tables are text. */
export const textColumns = 2;

/** The answer: the rate, the ratio, and who paid for it. */
export const mainColumns: Column<DrainRow>[] = [
  { head: "system", cell: ({ system }) => system.name },
  { head: "processes", cell: ({ processes }) => whole(processes) },
  { head: "messages/s", cell: figure(({ messagesPerSecond }) => messagesPerSecond, whole) },
  { head: "pgque / this", cell: compared((row) => row.ratio) },
  { head: "target", cell: ({ system }) => system.target?.text ?? "" },
  { head: "", cell: (row) => verdictOf(row) ?? "" },
  { head: "CPU, this / pgque", cell: compared((row) => row.cpuRatio) },
  { head: "server CPU / 1,000", cell: figure((figures) => figures.serverCpuSecondsPerThousand, cpuMs) },
  { head: "worker CPU / 1,000", cell: figure((figures) => figures.clientCpuSecondsPerThousand, cpuMs) },
];

/** What else was measured; in the reports only. */
export const moreColumns: Column<DrainRow>[] = [
  ...mainColumns.slice(0, textColumns),
  {
    head: "seconds",
    cell: figure(
      ({ seconds }) => seconds,
      (value) => value.toFixed(1),
    ),
  },
  { head: "RSS, most", cell: figure(({ rssBytesMax }) => rssBytesMax, bytes) },
  {
    head: "WAL/message",
    cell: figure(
      ({ walBytesPerMessage }) => walBytesPerMessage,
      (value) => `${whole(value)} B`,
    ),
  },
  {
    head: "others' CPU",
    cell: figure(
      ({ otherCpuSeconds }) => otherCpuSeconds,
      (value) => `${value.toFixed(1)} s`,
    ),
  },
];
