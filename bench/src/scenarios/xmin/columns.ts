import { bytes, micros, ms, notMeasured, ratio, spread, whole } from "../../report/format.ts";
import type { Spread } from "../../report/results.ts";
import type { Column, MeasuredRow } from "../../report/table.ts";
import { spreadOf } from "../../measure/statistics.ts";
import { ratioOf } from "../../runner/cells.ts";
import { hasFigures, type CellResult, type Results } from "./results.ts";

/** All repeats of one system under one horizon. */
export interface Row extends MeasuredRow {
  system: string;
  horizon: string;
  /** Only those with figures. */
  measured: CellResult[];
  /** Finished messages a second, held over `none` of the same repeat; null for `none` itself. */
  heldToNone: Spread | null;
}

/** Systems together, in the order of the settings. */
export function rowsOf({ cells, settings }: Results): Row[] {
  const of = (system: string, horizon: string): CellResult[] =>
    cells.filter((cell) => cell.system === system && cell.horizon === horizon);
  const compared = (of: CellResult[]) => of.map((figures) => ({ repeat: figures.repeat, figures }));
  return settings.systems.flatMap((system) =>
    settings.horizons.flatMap((horizon): Row[] => {
      const own = of(system, horizon);
      const none = horizon === "none" ? [] : of(system, "none");
      const row: Row = {
        system,
        horizon,
        measured: own.filter(hasFigures),
        errors: own.flatMap(({ error }) => error ?? []),
        notRun: own.flatMap(({ notRun }) => notRun ?? []),
        heldToNone: ratioOf(compared(own), compared(none), ({ dequeuedPerSecond }) => dequeuedPerSecond),
      };
      return own.length === 0 ? [] : [row];
    }),
  );
}

/** One figure of a row over its repeats. */
export function spreadIn({ measured }: Row, pick: FigureColumn["pick"]): Spread | null {
  return spreadOf(measured.map(pick));
}

/** A column that shows one figure of a cell, and how it is read and written. */
export interface FigureColumn extends Column<Row> {
  pick: (cell: CellResult) => number | null | undefined;
  format: (value: number) => string;
}

const figure = (head: string, pick: FigureColumn["pick"], format: FigureColumn["format"]): FigureColumn => ({
  head,
  pick,
  format,
  cell: (row) => spread(spreadIn(row, pick), format),
});

const perMessage = (value: number): string => `${whole(value)} B`;
const percent = (value: number): string => `${whole(value * 100)} %`;
const seconds = (value: number): string => `${value.toFixed(1)} s`;

const identity: Column<Row>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
];

/** Of all columns: system and horizon. */
export const textColumns = identity.length;

const finished = figure("finished per second", (cell) => cell.dequeuedPerSecond, whole);
const dead = figure("dead tuples", (cell) => cell.deadTuples, whole);
const onDisk = figure("on disk", (cell) => cell.bytes, bytes);
const latencyP99 = figure("latency p99", (cell) => cell.latencyMs?.p99, ms);
const cpuPerMessage = figure("CPU per message", (cell) => cell.details?.serverCpuMicrosPerMessage, micros);
const bystanderP99 = figure("bystander p99", (cell) => cell.bystanderMs?.p99, ms);

/** What a run is compared by with an earlier one. */
export const comparedFigures: FigureColumn[] = [finished, dead, onDisk, latencyP99, bystanderP99, cpuPerMessage];

/** The answer: did the rate hold, what was left behind, what did it cost. Fits a terminal of 100 columns. */
export const mainColumns: Column<Row>[] = [
  ...identity,
  finished,
  { head: "held / none", cell: (row) => (row.horizon === "none" ? "" : spread(row.heldToNone, ratio)) },
  dead,
  onDisk,
  figure("given back", (cell) => cell.bytesReclaimed, bytes),
  latencyP99,
  cpuPerMessage,
];

/** What else was measured; in the reports only. */
export const moreColumns: Column<Row>[] = [
  ...identity,
  figure("sent/s", (cell) => cell.enqueuedPerSecond, whole),
  figure("finished/s, clean phase", (cell) => cell.details?.clean.dequeuedPerSecond, whole),
  figure("backlog at most", (cell) => cell.depthMax, whole),
  { head: "drained in", cell: drained },
  figure("latency p50", (cell) => cell.latencyMs?.p50, ms),
  figure("bystander p50", (cell) => cell.bystanderMs?.p50, ms),
  bystanderP99,
  figure("WAL/message", (cell) => cell.walBytesPerMessage, perMessage),
  figure("xids/message", (cell) => cell.details?.transactionIdsPerMessage, ratio),
  figure("rotations", (cell) => cell.rotations, whole),
  figure("autovacuums", (cell) => cell.details?.autovacuums, whole),
  figure("updates", (cell) => cell.details?.tuplesUpdated, whole),
  figure("deletes", (cell) => cell.details?.tuplesDeleted, whole),
  figure("dead catalog rows", (cell) => cell.details?.catalogDeadTuples.after, whole),
  figure("server CPU", (cell) => cell.details?.serverCpuSeconds, seconds),
  figure("others' CPU", (cell) => cell.details?.otherCpuSeconds, seconds),
  figure("harness busy", (cell) => cell.details?.harness.busy, percent),
  figure("harness late p99", (cell) => cell.details?.harness.lateMs?.p99, ms),
];

/** What was seen of a holder; those that no row has are left out. */
export const heldColumns: (Column<Row> | FigureColumn)[] = [
  ...identity,
  figure("age", (cell) => cell.details?.horizon?.xminAge, whole),
  figure("catalogs' age", (cell) => cell.details?.horizon?.catalogXminAge, whole),
  figure("dead catalog rows before", (cell) => cell.details?.catalogDeadTuples.before, whole),
  figure("after", (cell) => cell.details?.catalogDeadTuples.after, whole),
  figure("retained WAL", (cell) => cell.details?.horizon?.retainedWalBytes, bytes),
  figure("kept", (cell) => cell.details?.horizon?.messagesKept, whole),
  figure("tables locked", (cell) => cell.details?.horizon?.tablesLocked, whole),
  figure("steps", (cell) => cell.details?.horizon?.steps?.count, whole),
];

function drained(row: Row): string {
  if (row.measured.length === 0) return notMeasured;
  const undrained = row.measured.filter(({ drainSeconds }) => drainSeconds === null);
  if (undrained.length === 0) return figure("", (cell) => cell.drainSeconds, seconds).cell(row);
  const left = Math.max(...undrained.map(({ details }) => details?.backlogAfterRecovery ?? 0));
  return `not in time, ${whole(left)} left`;
}
