import type { CallTimes } from "../load/load.ts";
import type { LatencySummary } from "../measure/histogram.ts";
import type { Sample } from "../measure/sampler.ts";
import type { Settings } from "../settings.ts";
import type { Machine } from "./machine.ts";

/** Raised when a field that other programs rely on changes its meaning or goes away. */
export const resultsVersion = 1;

/** One system under one horizon, once. The held phase, unless a field says otherwise. Null: not measured. */
export interface CellResult {
  system: string;
  horizon: string;
  /** Of the server, as in "17.10". */
  postgres: string;
  /** From 1. */
  repeat: number;
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
  /** Why there are no figures. */
  error: string | null;
  /** Null when there is an error. */
  details: CellDetails | null;
}

/** What a reader may want to know besides; other programs should not rely on it. */
export interface CellDetails {
  seconds: number;
  enqueued: number;
  dequeued: number;
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
  serverCpuSeconds: number | null;
  serverCpuMicrosPerMessage: number | null;
  /** Of whatever else ran on the machine. */
  otherCpuSeconds: number | null;
  harness: { cpuSeconds: number; busy: number; lateMs: LatencySummary | null };
  calls: { send: CallTimes | null; receiveAndFinish: CallTimes | null };
  backlogAfterRecovery: number;
}

/** Numbers of the cells of one system and horizon that have any. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** What results.json begins with, whatever the scenario. */
export interface ResultsHead {
  schemaVersion: typeof resultsVersion;
  scenario: string;
  /** ISO 8601. */
  startedAt: string;
  machine: Machine;
}

export interface Results extends ResultsHead {
  settings: ReportedSettings;
  cells: CellResult[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}

/** Without the connection string, which may hold a password. */
export type ReportedSettings = Omit<Settings, "databaseUrl" | "resultsFolder"> & {
  indicative: boolean;
  server: Record<string, string>;
  embedded: boolean;
};

/** A cell without figures: an error is never shown as a number. */
export function failedCell(
  cell: { system: string; horizon: string; postgres: string; repeat: number },
  error: string,
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
    error,
    details: null,
  };
}

/** The samples of one cell, for samples.csv. */
export interface CellSamples {
  system: string;
  horizon: string;
  repeat: number;
  samples: Sample[];
}
