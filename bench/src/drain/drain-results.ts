import type { Growth } from "../measure/growth.ts";
import type { ReportedSettings, ResultsHead } from "../report/results.ts";
import type { DrainSettings } from "./drain-settings.ts";

/** One system with so many processes, before it is measured. */
export interface DrainPlan {
  system: string;
  processes: number;
  /** From 1. */
  repeat: number;
}

/** What was measured. Null: could not be. */
export interface DrainFigures {
  messagesPerSecond: number;
  /** From the start signal until the last message was settled. */
  seconds: number;
  /** Of the server that holds the queue: all PostgreSQL's processes, or Redis. */
  serverCpuSecondsPerThousand: number | null;
  /** Of all worker processes. */
  clientCpuSecondsPerThousand: number;
  /** Of whatever else ran on the machine meanwhile, the harness aside. */
  otherCpuSeconds: number | null;
  /** Of the process that had most. */
  rssBytesMax: number;
  /** Null for a queue in another server. */
  walBytesPerMessage: number | null;
  /** Of the first process; null unless memory was sampled. */
  growth: Growth | null;
}

export interface DrainCell extends DrainPlan {
  /** Of the PostgreSQL server, as in "17.10". */
  postgres: string;
  /** Null when there is an error, or it was not run. */
  figures: DrainFigures | null;
  /** Why it was not run: something that it needs is not installed. */
  notRun: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
}

export interface DrainResults extends ResultsHead {
  settings: ReportedSettings<DrainSettings>;
  cells: DrainCell[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}
