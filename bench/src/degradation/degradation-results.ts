import type { LatencySummary } from "../measure/histogram.ts";
import type { Sample } from "../measure/sampler.ts";
import type { Cell, CellResults } from "../runner/cells.ts";
import type { DegradationSettings } from "./degradation-settings.ts";

/** One system, before it is measured. */
export interface DegradationPlan {
  system: string;
  /** From 1. */
  repeat: number;
}

/** What was measured while the transaction was open, unless a field says otherwise. Null: could not be. */
export interface DegradationFigures {
  /** Messages that were sent and not finished when the load stopped. */
  backlogEnd: number;
  backlogMax: number;
  /** From when the transaction was opened until the backlog had grown beyond what is sent in ten seconds, for good; null when it did not. */
  ranAwaySeconds: number | null;
  /** Of the statements that picked and locked messages, before the transaction was opened. */
  lockCleanMs: LatencySummary | null;
  /** The same at the end, for `endSeconds` of the settings. */
  lockEndMs: LatencySummary | null;
  /** Of their medians: at the end over before. */
  lockRatio: number | null;
  /** Over all tables of the system, when the load has stopped and the transaction is still open. */
  deadTuples: number;
  sentPerSecond: number;
  finishedPerSecond: number;
  finishedPerSecondClean: number;
  /** Of PostgreSQL; null also where its processes cannot be looked at. */
  serverCpuMicrosPerMessage: number | null;
  serverCpuMicrosPerMessageClean: number | null;
  /** From when a message was due to be sent until a consumer had it in hand. */
  latencyMs: LatencySummary | null;
  bytes: number;
  /** How old the long transaction has become. */
  oldestTransactionSeconds: number;
}

export type DegradationCell = Cell<DegradationPlan, DegradationFigures>;

/** What all scenarios sample, and how long the statements took that locked messages since the sample before. */
export interface DegradationSample extends Sample {
  lockP50Ms: number | null;
  lockP99Ms: number | null;
}

/** The samples of one cell, for samples.csv. */
export interface DegradationSamples extends DegradationPlan {
  samples: DegradationSample[];
}

export type DegradationResults = CellResults<DegradationSettings, DegradationCell>;
