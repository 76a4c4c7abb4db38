import type { ReportedSettings, ResultsHead } from "../report/results.ts";
import type { LatencySettings } from "./latency-settings.ts";
import type { LatencyFigures } from "./process.ts";

/** One system at one rate, before it is measured. */
export interface LatencyPlan {
  system: string;
  messagesPerSecond: number;
  /** From 1. */
  repeat: number;
}

export interface LatencyCell extends LatencyPlan {
  /** Of the PostgreSQL server, as in "17.10". */
  postgres: string;
  /** Null when there is an error, or it was not run. */
  figures: LatencyFigures | null;
  /** Why it was not run: something that it needs is not installed. */
  notRun: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
}

export interface LatencyResults extends ResultsHead {
  settings: ReportedSettings<LatencySettings>;
  cells: LatencyCell[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}
