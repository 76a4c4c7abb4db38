import type { CallTimes } from "../load/load.ts";
import type { ReportedSettings, ResultsHead } from "../report/results.ts";
import type { ThroughputLoad } from "./throughput-loads.ts";
import type { ThroughputSettings } from "./throughput-settings.ts";

/** One system under one load, before it is measured. */
export interface ThroughputPlan extends ThroughputLoad {
  system: string;
  /** From 1. */
  repeat: number;
}

/** What was measured, the warm-up left out. Null: could not be. */
export interface ThroughputFigures {
  /** Sent, or received and finished. */
  messagesPerSecond: number;
  messages: number;
  seconds: number;
  /** Of all of PostgreSQL's processes. */
  serverCpuSecondsPerThousand: number | null;
  /** Of the harness, which is the client. */
  clientCpuSecondsPerThousand: number;
  walBytesPerMessage: number;
  /** Over all tables of the system's schema, TOAST included, when all is over; the warm-up and the sending of a backlog leave theirs too. */
  deadTuples: number;
  deadTuplesFrom: "pgstattuple" | "statistics";
  calls: CallTimes | null;
}

export interface ThroughputCell extends ThroughputPlan {
  /** Of the server, as in "17.10". */
  postgres: string;
  /** Null when there is an error, or it was not run. */
  figures: ThroughputFigures | null;
  /** Why it was not run: something that it needs was not given. */
  notRun: string | null;
  /** Why there are no figures though it was run. */
  error: string | null;
}

export interface ThroughputResults extends ResultsHead {
  settings: ReportedSettings<Omit<ThroughputSettings, "sqlFiles">>;
  cells: ThroughputCell[];
  /** True when it was stopped before all cells were run. */
  interrupted: boolean;
}
