import type { CallTimes } from "../load/saturate.ts";
import type { Proof } from "../horizons/horizon.ts";
import type { LatencySummary } from "../measure/histogram.ts";
import type { Sample } from "../measure/sampler.ts";
import type { ReportedSettings, ResultsHead } from "../report/results.ts";
import type { Settings } from "./xmin-settings.ts";

/** One cell of the matrix, before it is run. */
export interface CellPlan {
  system: string;
  horizon: string;
  /** From 1. */
  repeat: number;
}

/** One system under one horizon, once. The held phase, unless a field says otherwise. Null: not measured. */
export interface CellResult extends CellPlan {
  /** Of the server, as in "17.10". */
  postgres: string;
  enqueuedPerSecond: number | null;
  /** Finished messages; empty receives count nothing. */
  dequeuedPerSecond: number | null;
  /** Over all tables of the system's schema, their TOAST included, when the load has stopped and the holder still holds. */
  deadTuples: number | null;
  deadTuplesByRelation: Record<string, number> | null;
  /** Tables, indexes, TOAST and sequences of the schema, at the end of the phase. */
  bytes: number | null;
  bytesReclaimed: number | null;
  /** Segments emptied by TRUNCATE; null for a system that has none. */
  rotations: number | null;
  walBytesPerMessage: number | null;
  /** From the time a message was meant to be sent until a consumer had it in hand. */
  latencyMs: LatencySummary | null;
  bystanderMs: LatencySummary | null;
  depthMax: number | null;
  /** The backlog's, once the holder has let go; null when it did not drain within the time allowed. */
  drainSeconds: number | null;
  /** Why it was not run: this server, this system or this machine cannot have it. Absent in files of before there was the field. */
  notRun?: string | null;
  /** Why there are no figures though it was run; in files of before there was the field `notRun` also why it was not. */
  error: string | null;
  /** Null when there are no figures. */
  details: CellDetails | null;
}

/** What a reader may want to know besides; other programs should not rely on it. */
export interface CellDetails {
  seconds: number;
  enqueued: number;
  dequeued: number;
  /** Were due and never sent, because the sends before them took until the phase was over. Not there in results of before it was counted. */
  unsent?: number;
  clean: { seconds: number; enqueuedPerSecond: number; dequeuedPerSecond: number };
  /** Read from every page with pgstattuple, or taken from the statistics. */
  deadTuplesFrom: "pgstattuple" | "statistics";
  tuplesUpdated: number;
  tuplesDeleted: number;
  /** System catalogs, before and at the end of the held phase. */
  catalogDeadTuples: { before: number; after: number; byRelation: Record<string, number> };
  bytesMax: number;
  indexBytes: number;
  transactionIdsPerMessage: number | null;
  autovacuums: number;
  buffersHit: number;
  buffersRead: number;
  /** In transactions, as seen from another session at the end of the held phase. */
  xminAge: number;
  /** What was seen of the holder then, which is more than that of some. Absent in files of before it was kept. */
  horizon?: Proof;
  serverCpuSeconds: number | null;
  serverCpuMicrosPerMessage: number | null;
  /** Of whatever else ran on the machine. */
  otherCpuSeconds: number | null;
  harness: { cpuSeconds: number; busy: number; lateMs: LatencySummary | null };
  calls: { send: CallTimes | null; receiveAndFinish: CallTimes | null };
  backlogAfterRecovery: number;
}

export interface Results extends ResultsHead {
  settings: ReportedSettings<Settings>;
  cells: CellResult[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}

/** Whether a cell has figures; one that was not run or failed has none. */
export const hasFigures = ({ notRun, error }: CellResult): boolean => (notRun ?? error) === null;

/** A cell without figures: a reason is never shown as a number. */
export function cellWithout(
  cell: CellPlan & { postgres: string },
  reason: { notRun: string | null; error: string | null },
): CellResult {
  return {
    ...cell,
    enqueuedPerSecond: null,
    dequeuedPerSecond: null,
    deadTuples: null,
    deadTuplesByRelation: null,
    bytes: null,
    bytesReclaimed: null,
    rotations: null,
    walBytesPerMessage: null,
    latencyMs: null,
    bystanderMs: null,
    depthMax: null,
    drainSeconds: null,
    ...reason,
    details: null,
  };
}

/** The samples of one cell, for samples.csv. */
export interface CellSamples extends CellPlan {
  /** Of the server, as in "17.10". */
  postgres: string;
  samples: Sample[];
}
