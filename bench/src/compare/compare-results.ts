import type { LatencySummary } from "../measure/histogram.ts";
import type { ReportedSettings, ResultsHead } from "../report/results.ts";
import type { CompareSettings } from "./compare-settings.ts";

/** One system, before it is measured. */
export interface ComparePlan {
  system: string;
  /** From 1. */
  repeat: number;
}

/** What a saturated queue does. */
export interface SaturatedFigures {
  sentPerSecond: number;
  finishedPerSecond: number;
  /** Null without finished messages, and of a system that keeps nothing in PostgreSQL. */
  walBytesPerMessage: number | null;
  /** Null where the server's processes cannot be looked at. */
  serverCpuMicrosPerMessage: number | null;
  /** How much of the time the harness's one thread was busy, 0 to 1: near to 1 it is what limits the rate. */
  harnessBusy: number;
}

/** What was measured. Null: could not be. */
export interface CompareFigures {
  clean: SaturatedFigures;
  /** Dead tuples and bytes: null of a system that keeps nothing in PostgreSQL. */
  held: SaturatedFigures & { deadTuples: number | null; bytes: number | null };
  /** From when a message was due to be sent until a consumer had it in hand, at a rate that leaves consumers idle. */
  latencyMs: LatencySummary | null;
  /** The same with the horizon held. */
  latencyHeldMs: LatencySummary | null;
}

export interface CompareCell extends ComparePlan {
  /** Of the PostgreSQL server, as in "17.10". */
  postgres: string;
  /** Null when there is an error, or it was not run. */
  figures: CompareFigures | null;
  /** Why it was not run: something that it needs is not installed. */
  notRun: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
}

export interface CompareResults extends ResultsHead {
  settings: ReportedSettings<CompareSettings>;
  cells: CompareCell[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}
