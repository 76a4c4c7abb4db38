import { bytes, micros, ms, notMeasured, ratio, spread, whole } from "./format.ts";
import type { CellResult } from "./results.ts";
import { spreadIn, type Row } from "./summary.ts";

export interface Column {
  /** One word or two, in as many lines of the terminal's table. */
  head: string;
  cell: (row: Row) => string;
}

const figure =
  (pick: (cell: CellResult) => number | null | undefined, format: (value: number) => string) =>
  (row: Row): string =>
    spread(spreadIn(row, pick), format);

const perMessage = (value: number): string => `${whole(value)} B`;
const percent = (value: number): string => `${whole(value * 100)} %`;
const seconds = (value: number): string => `${value.toFixed(1)} s`;

const identity: Column[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
];

/** The answer: did the rate hold, what was left behind, what did it cost. Fits a terminal of 100 columns. */
export const mainColumns: Column[] = [
  ...identity,
  { head: "finished per second", cell: figure((cell) => cell.dequeuedPerSecond, whole) },
  { head: "held / none", cell: (row) => (row.horizon === "none" ? "" : spread(row.heldToNone, ratio)) },
  { head: "dead tuples", cell: figure((cell) => cell.deadTuples, whole) },
  { head: "on disk", cell: figure((cell) => cell.bytes, bytes) },
  { head: "given back", cell: figure((cell) => cell.bytesReclaimed, bytes) },
  { head: "latency p99", cell: figure((cell) => cell.latencyMs?.p99, ms) },
  { head: "CPU per message", cell: figure((cell) => cell.details?.serverCpuMicrosPerMessage, micros) },
];

/** What else was measured; in report.md only. */
export const moreColumns: Column[] = [
  ...identity,
  { head: "sent/s", cell: figure((cell) => cell.enqueuedPerSecond, whole) },
  { head: "finished/s, clean phase", cell: figure((cell) => cell.details?.clean.dequeuedPerSecond, whole) },
  { head: "backlog at most", cell: figure((cell) => cell.depthMax, whole) },
  { head: "drained in", cell: drained },
  { head: "latency p50", cell: figure((cell) => cell.latencyMs?.p50, ms) },
  { head: "bystander p50", cell: figure((cell) => cell.bystanderMs?.p50, ms) },
  { head: "bystander p99", cell: figure((cell) => cell.bystanderMs?.p99, ms) },
  { head: "WAL/message", cell: figure((cell) => cell.walBytesPerMessage, perMessage) },
  { head: "xids/message", cell: figure((cell) => cell.details?.transactionIdsPerMessage, ratio) },
  { head: "rotations", cell: figure((cell) => cell.rotations, whole) },
  { head: "autovacuums", cell: figure((cell) => cell.details?.autovacuums, whole) },
  { head: "updates", cell: figure((cell) => cell.details?.tuplesUpdated, whole) },
  { head: "deletes", cell: figure((cell) => cell.details?.tuplesDeleted, whole) },
  { head: "dead catalog rows", cell: figure((cell) => cell.details?.catalogDeadTuples.after, whole) },
  { head: "server CPU", cell: figure((cell) => cell.details?.serverCpuSeconds, seconds) },
  { head: "others' CPU", cell: figure((cell) => cell.details?.otherCpuSeconds, seconds) },
  { head: "harness busy", cell: figure((cell) => cell.details?.harness.busy, percent) },
  { head: "harness late p99", cell: figure((cell) => cell.details?.harness.lateMs?.p99, ms) },
];

function drained(row: Row): string {
  if (row.cells.length === 0) return notMeasured;
  const undrained = row.cells.filter(({ drainSeconds }) => drainSeconds === null);
  if (undrained.length === 0) return figure((cell) => cell.drainSeconds, seconds)(row);
  const left = Math.max(...undrained.map(({ details }) => details?.backlogAfterRecovery ?? 0));
  return `not in time, ${whole(left)} left`;
}
