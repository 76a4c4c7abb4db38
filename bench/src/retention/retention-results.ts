import type { AdvancingProof } from "../horizons/advancing-feedback.ts";
import type { LatencySummary } from "../measure/histogram.ts";
import type { Cell, CellResults } from "../runner/cells.ts";
import type { RetentionSettings } from "./retention-settings.ts";
import type { UpdatedTable } from "./tpcb-tables.ts";
import type { TpcbCounts } from "./tpcb.ts";

/** One queue beside the load with one interval, before it is measured. */
export interface RetentionPlan {
  system: string;
  /** Milliseconds, `none` or `dynamic`. */
  interval: string;
  /** From 1. */
  repeat: number;
}

/** What was measured. Null: could not be. */
export interface RetentionFigures {
  /** Of the load, committed. */
  transactions: number;
  transactionsPerSecond: number;
  transactionMs: LatencySummary | null;
  /** What the server has counted of the tables of the load. */
  tables: TpcbCounts;
  /** Pages of index and table that it takes to find a row by its key, when the load has stopped and the slot still holds. */
  buffersPerIndexScan: Record<UpdatedTable, number>;
  /** In all tables of the load, when it has stopped and the slot still holds. */
  tpcbDeadTuples: number;
  queue: {
    sentPerSecond: number;
    finishedPerSecond: number;
    /** From when a message was due to be sent until a consumer had it in hand. */
    latencyMs: LatencySummary | null;
    /** In all tables of the queue, when the load has stopped and the slot still holds; null for one that keeps nothing in PostgreSQL. */
    deadTuples: number | null;
  };
  /** What another session saw of the slot; null without one. */
  slot: AdvancingProof | null;
  /** Of all of the servers' processes, load and queue together. */
  serverCpuSeconds: number | null;
  /** Of the process of the load's clients. */
  tpcbCpuSeconds: number;
  /** Of the process of the queue's producers and consumers, and of the slot's holder. */
  queueCpuSeconds: number;
  /** Of whatever else ran on the machine meanwhile. */
  otherCpuSeconds: number | null;
}

export type RetentionCell = Cell<RetentionPlan, RetentionFigures>;

export type RetentionResults = CellResults<RetentionSettings, RetentionCell>;
