import type { CallTimes } from "../load/load.ts";
import type { Cell, CellResults } from "../scenario/cells.ts";
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

export type ThroughputCell = Cell<ThroughputPlan, ThroughputFigures>;

export type ThroughputResults = CellResults<Omit<ThroughputSettings, "sqlFiles">, ThroughputCell>;
