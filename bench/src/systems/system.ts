import type pg from "pg";
import type { Tally } from "../load/tally.ts";
import type { CpuClock } from "../measure/server-cpu.ts";

/** What a system is given to set itself up in the fresh database of one cell. */
export interface Workload {
  /** The harness's own connection: for the schema, not for the load. */
  admin: pg.Client;
  /** Opens a connection that the harness closes. `synchronous_commit` is the run's unless said otherwise. */
  connect(role: string, options?: { synchronousCommit?: "on" | "off" }): Promise<pg.Client>;
  /** The same database, with the run's `synchronous_commit`, for a library that opens its own connections. */
  url: string;
  tally: Tally;
  producers: number;
  consumers: number;
  /** The most messages one receive returns. */
  batch: number;
  sendBatch: number;
  /** How long a consumer that found nothing waits. */
  idlePollMs: number;
  /** For a system that stores in segments: when it rotates. Null: its own defaults. */
  rotation: { bytes: number; minIntervalSeconds: number } | null;
  /** SQL that is not ours to ship, by what it installs. */
  sqlFiles: SqlFiles;
}

/** Paths of the SQL files of systems that consist of one; null where none was given. */
export interface SqlFiles {
  pgmq: string | null;
  pgq: string | null;
  pgqUniversal: string | null;
}

/** Sends all payloads in one transaction. */
export type Send = (payloads: string[]) => Promise<void>;

/** Receives one batch, hands its messages to the tally, finishes it; how many it finished, 0 when nothing was there. */
export type Receive = () => Promise<number>;

/** Consumers are pulled by the harness, or run by themselves between `start` and `stop`. */
export type Consumers =
  | { kind: "pulled"; receive: Receive[] }
  | { kind: "pushed"; start(): Promise<void>; stop(): Promise<void> };

export interface RunningSystem {
  send: Send[];
  consumers: Consumers;
  /** What an operator would have scheduled, and what tells that a library has failed; called about once a second. */
  maintain?: () => Promise<void>;
  /** Of a system that wants `maintain` more or less often. */
  maintainSeconds?: number;
  /** Of a server that it uses beside PostgreSQL, whose CPU is added to that of PostgreSQL. */
  otherServer?: CpuClock;
  close?: () => Promise<void>;
}

export interface System {
  name: string;
  /** What it does with a message, and where that way of doing it comes from. */
  summary: string;
  /** One line for every choice made for it, with the reason. */
  settings: string[];
  /** Every table in it is counted. Null: it keeps nothing in PostgreSQL. */
  schema: string | null;
  /** The tables that a rotation empties, one for each segment. */
  segments: RegExp | null;
  /** @throws NotRun when something that it needs is not there */
  open(workload: Workload): Promise<RunningSystem>;
}
