import { bytes, micros, ms, notMeasured, ratio, spread, whole } from "../../report/format.ts";
import type { Spread } from "../../report/results.ts";
import type { Column, MeasuredRow } from "../../report/table.ts";
import { spreadOf } from "../../measure/statistics.ts";
import { ratioOf } from "../../runner/trials.ts";
import { hasFigures, type TrialResult, type Results } from "./results.ts";

/** All repeats of one system under one horizon. */
export interface Row extends MeasuredRow {
  system: string;
  horizon: string;
  /** Only those with figures. */
  measured: TrialResult[];
  /** Finished messages a second, held over `none` of the same repeat; null for `none` itself. */
  heldToNone: Spread | null;
}

/** Systems together, in the order of the settings. */
export function rowsOf({ trials, settings }: Results): Row[] {
  const of = (system: string, horizon: string): TrialResult[] =>
    trials.filter((trial) => trial.system === system && trial.horizon === horizon);
  const compared = (of: TrialResult[]) => of.map((figures) => ({ repeat: figures.repeat, figures }));
  return settings.systems.flatMap((system) =>
    settings.horizons.flatMap((horizon): Row[] => {
      const own = of(system, horizon);
      const none = horizon === "none" ? [] : of(system, "none");
      const row: Row = {
        system,
        horizon,
        measured: own.filter(hasFigures),
        errors: own.flatMap(({ error }) => error ?? []),
        skipped: own.flatMap(({ skipped }) => skipped ?? []),
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

/** A column that shows one figure of a trial, and how it is read and written. */
export interface FigureColumn extends Column<Row> {
  pick: (trial: TrialResult) => number | null | undefined;
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

const finished = figure("finished per second", (trial) => trial.dequeuedPerSecond, whole);
const dead = figure("dead tuples", (trial) => trial.deadTuples, whole);
const onDisk = figure("on disk", (trial) => trial.bytes, bytes);
const latencyP99 = figure("latency p99", (trial) => trial.latencyMs?.p99, ms);
const cpuPerMessage = figure("CPU per message", (trial) => trial.details?.serverCpuMicrosPerMessage, micros);
const bystanderP99 = figure("bystander p99", (trial) => trial.bystanderMs?.p99, ms);

/** What a run is compared by with an earlier one. */
export const comparedFigures: FigureColumn[] = [finished, dead, onDisk, latencyP99, bystanderP99, cpuPerMessage];

/** The answer: did the rate hold, what was left behind, what did it cost. Fits a terminal of 100 columns. */
export const mainColumns: Column<Row>[] = [
  ...identity,
  finished,
  { head: "held / none", cell: (row) => (row.horizon === "none" ? "" : spread(row.heldToNone, ratio)) },
  dead,
  onDisk,
  figure("given back", (trial) => trial.bytesReclaimed, bytes),
  latencyP99,
  cpuPerMessage,
];

/** What else was measured; in the reports only. */
export const moreColumns: Column<Row>[] = [
  ...identity,
  figure("sent/s", (trial) => trial.enqueuedPerSecond, whole),
  figure("finished/s, clean phase", (trial) => trial.details?.clean.dequeuedPerSecond, whole),
  figure("backlog at most", (trial) => trial.depthMax, whole),
  { head: "drained in", cell: drained },
  figure("latency p50", (trial) => trial.latencyMs?.p50, ms),
  figure("bystander p50", (trial) => trial.bystanderMs?.p50, ms),
  bystanderP99,
  figure("WAL/message", (trial) => trial.walBytesPerMessage, perMessage),
  figure("xids/message", (trial) => trial.details?.transactionIdsPerMessage, ratio),
  figure("rotations", (trial) => trial.rotations, whole),
  figure("autovacuums", (trial) => trial.details?.autovacuums, whole),
  figure("updates", (trial) => trial.details?.tuplesUpdated, whole),
  figure("deletes", (trial) => trial.details?.tuplesDeleted, whole),
  figure("dead catalog rows", (trial) => trial.details?.catalogDeadTuples.after, whole),
  figure("server CPU", (trial) => trial.details?.serverCpuSeconds, seconds),
  figure("others' CPU", (trial) => trial.details?.otherCpuSeconds, seconds),
  figure("harness busy", (trial) => trial.details?.harness.busy, percent),
  figure("harness late p99", (trial) => trial.details?.harness.lateMs?.p99, ms),
];

/** What was seen of a holder; those that no row has are left out. */
export const heldColumns: (Column<Row> | FigureColumn)[] = [
  ...identity,
  figure("age", (trial) => trial.details?.horizon?.xminAge, whole),
  figure("catalogs' age", (trial) => trial.details?.horizon?.catalogXminAge, whole),
  figure("dead catalog rows before", (trial) => trial.details?.catalogDeadTuples.before, whole),
  figure("after", (trial) => trial.details?.catalogDeadTuples.after, whole),
  figure("retained WAL", (trial) => trial.details?.horizon?.retainedWalBytes, bytes),
  figure("kept", (trial) => trial.details?.horizon?.messagesKept, whole),
  figure("tables locked", (trial) => trial.details?.horizon?.tablesLocked, whole),
  figure("steps", (trial) => trial.details?.horizon?.steps?.count, whole),
];

function drained(row: Row): string {
  if (row.measured.length === 0) return notMeasured;
  const undrained = row.measured.filter(({ drainSeconds }) => drainSeconds === null);
  if (undrained.length === 0) return figure("", (trial) => trial.drainSeconds, seconds).cell(row);
  const left = Math.max(...undrained.map(({ details }) => details?.backlogAfterRecovery ?? 0));
  return `not in time, ${whole(left)} left`;
}
