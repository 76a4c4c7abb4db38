import type { Growth } from "../measure/growth.ts";
import type { Cell, CellResults } from "../scenario/cells.ts";
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

export type DrainCell = Cell<DrainPlan, DrainFigures>;

export type DrainResults = CellResults<DrainSettings, DrainCell>;
