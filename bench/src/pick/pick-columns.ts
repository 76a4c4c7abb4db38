import { cpuMs } from "../report/cpu-ms.ts";
import { ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/rows-table.ts";
import { spreadOf } from "../report/summary.ts";
import type { PickFigures } from "./pick-results.ts";
import { reference, type PickRow } from "./pick-summary.ts";

const figure =
  (pick: (figures: PickFigures, row: PickRow) => number | null, format: (value: number) => string) =>
  (row: PickRow): string =>
    spread(spreadOf(row.measured.map((figures) => pick(figures, row))), format);

const seconds = (value: number): string => `${value.toFixed(1)} s`;

const perThousand = (cpuSeconds: number | null, { jobs }: PickRow): number | null =>
  cpuSeconds === null ? null : (cpuSeconds * 1000) / jobs;

/** How many columns of the table are text. */
export const textColumns = 1;

export const columns: Column<PickRow>[] = [
  { head: "system", cell: ({ picker }) => picker.name },
  { head: "all jobs in", cell: figure((figures) => figures.seconds, seconds) },
  {
    head: "published",
    cell: ({ picker }) => (picker.publishedSeconds === undefined ? "" : seconds(picker.publishedSeconds)),
  },
  { head: "jobs/s", cell: figure((figures, { jobs }) => jobs / figures.seconds, whole) },
  { head: `${reference} / this`, cell: (row) => (row.picker.name === reference ? "" : spread(row.ratio, ratio)) },
  { head: "server CPU / 1,000", cell: figure((figures, row) => perThousand(figures.serverCpuSeconds, row), cpuMs) },
  { head: "worker CPU / 1,000", cell: figure((figures, row) => perThousand(figures.clientCpuSeconds, row), cpuMs) },
  { head: "out of order", cell: figure((figures) => figures.outOfOrder, whole) },
];
