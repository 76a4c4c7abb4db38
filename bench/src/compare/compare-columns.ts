import { systemNamed } from "../adapters/registry.ts";
import { bytes, ms, notMeasured, ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/rows-table.ts";
import { spreadOf } from "../report/summary.ts";
import type { CompareFigures } from "./compare-results.ts";
import { reference, type CompareRow } from "./compare-summary.ts";

const figure =
  (pick: (figures: CompareFigures) => number | null | undefined, format: (value: number) => string) =>
  ({ measured }: CompareRow): string =>
    spread(spreadOf(measured.map(pick)), format);

/** What a system has that keeps its messages in PostgreSQL. */
const stored =
  (pick: (figures: CompareFigures) => number | null | undefined, format: (value: number) => string) =>
  (row: CompareRow): string =>
    systemNamed(row.system).schema === null ? notMeasured : figure(pick, format)(row);

/** The row of what the others are compared with says nothing. */
const compared =
  (pick: (row: CompareRow) => CompareRow["ratioClean"]) =>
  (row: CompareRow): string =>
    row.system === reference ? "" : spread(pick(row), ratio);

/** How many columns of the tables are text. */
export const textColumns = 1;

const name: Column<CompareRow> = { head: "system", cell: ({ system }) => system };
const inBytes = (value: number): string => `${whole(value)} B`;

/** The answer. */
export const mainColumns: Column<CompareRow>[] = [
  name,
  { head: "finished/s", cell: figure(({ clean }) => clean.finishedPerSecond, whole) },
  { head: "held", cell: figure(({ held }) => held.finishedPerSecond, whole) },
  { head: "pgque / this", cell: compared((row) => row.ratioClean) },
  { head: "held", cell: compared((row) => row.ratioHeld) },
  { head: "latency p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "WAL/message", cell: stored(({ clean }) => clean.walBytesPerMessage, inBytes) },
  { head: "dead tuples, held", cell: stored(({ held }) => held.deadTuples, whole) },
];

/** What else was measured; in report.md only. */
export const moreColumns: Column<CompareRow>[] = [
  name,
  { head: "sent/s", cell: figure(({ clean }) => clean.sentPerSecond, whole) },
  { head: "held", cell: figure(({ held }) => held.sentPerSecond, whole) },
  { head: "server CPU/message", cell: figure(({ clean }) => clean.serverCpuMicrosPerMessage, micros) },
  { head: "held", cell: figure(({ held }) => held.serverCpuMicrosPerMessage, micros) },
  { head: "harness busy", cell: figure(({ clean }) => clean.harnessBusy, percent) },
  { head: "held", cell: figure(({ held }) => held.harnessBusy, percent) },
  { head: "latency p50, held", cell: figure(({ latencyHeldMs }) => latencyHeldMs?.p50, ms) },
  { head: "p99, held", cell: figure(({ latencyHeldMs }) => latencyHeldMs?.p99, ms) },
  { head: "on disk, held", cell: stored(({ held }) => held.bytes, bytes) },
];

function percent(share: number): string {
  return `${whole(share * 100)} %`;
}

function micros(value: number): string {
  return `${whole(value)} µs`;
}
