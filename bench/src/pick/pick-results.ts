import type { ReportedSettings, ResultsHead } from "../report/results.ts";
import type { PickSettings } from "./pick-settings.ts";

/** One picker, before it is measured. */
export interface PickPlan {
  system: string;
  /** From 1. */
  repeat: number;
}

/** What was measured. Null: could not be. */
export interface PickFigures {
  /** Until every job was done, by any of the workers. */
  seconds: number;
  /** Of all of PostgreSQL's processes. */
  serverCpuSeconds: number | null;
  /** Of the process of the workers. */
  clientCpuSeconds: number;
  /** Jobs that were begun while more of a higher priority were left than the other workers could have had in hand: 0 in perfect order. */
  outOfOrder: number | null;
}

export interface PickCell extends PickPlan {
  /** Of the server, as in "17.10". */
  postgres: string;
  /** Null when there is an error. */
  figures: PickFigures | null;
  /** Why it was not run. */
  notRun: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
}

export interface PickResults extends ResultsHead {
  settings: ReportedSettings<PickSettings>;
  cells: PickCell[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}
