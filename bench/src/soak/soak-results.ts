import type { LatencySummary } from "../measure/histogram.ts";
import type { Cell, CellResults } from "../runner/cells.ts";
import type { CellPlan } from "../xmin/xmin-results.ts";
import type { Drift } from "./drift.ts";
import type { SoakSample } from "./soak-samples.ts";
import type { SoakSettings } from "./soak-settings.ts";

/** What was measured. Null: could not be. */
export interface SoakFigures {
  /** How long messages were sent. */
  seconds: number;
  sentPerSecond: number;
  finishedPerSecond: number;
  depthMax: number;
  /** From when a message was due to be sent until a consumer had it in hand, over the whole time. */
  latencyMs: LatencySummary | null;
  /** In all tables of the system, when the load has stopped and the holder still holds; null for a system that keeps nothing in PostgreSQL. */
  deadTuples: number | null;
  bytesReclaimed: number | null;
  /** Segments emptied by TRUNCATE; null for a system that has none. */
  rotations: number | null;
  /** Null where the server's processes cannot be looked at. */
  serverCpuMicrosPerMessage: number | null;
  /** By everything on the machine that is neither server nor harness. */
  otherCpuSeconds: number | null;
  /** How late the harness itself was with its sends. */
  lateMs: LatencySummary | null;
  /** Of each measure that could be sampled. */
  drifts: Drift[];
}

/** One system under one horizon, once. */
export type SoakCell = Cell<CellPlan, SoakFigures>;

/** A cell, and its samples, also when it failed. */
export interface MeasuredSoak {
  cell: SoakCell;
  samples: SoakSample[];
}

export type SoakResults = CellResults<SoakSettings, SoakCell>;
