import type pg from "pg";
import type { Target } from "../scenario/target.ts";
import type { CpuClock } from "../measure/server-cpu.ts";
import type { Server } from "../server.ts";
import type { Numbered } from "./message.ts";

/** What an empty queue is made with. */
export interface Place {
  server: Server;
  synchronousCommit: "on" | "off";
}

/** An empty queue in a database, or a Redis, of its own. */
export interface Store {
  /** Where processes find it: what `connect` takes. */
  url: string;
  /** Many in one call. */
  send: (messages: readonly Numbered[]) => Promise<unknown>;
  /** How many messages are not settled: waiting, under way, or handled and not yet known to be. */
  unsettled(): Promise<number>;
  /** After everything was sent: what a table that has just been filled needs, so that no system has it done within its time. */
  settleDown?(): Promise<void>;
  /** Null where it cannot be seen. */
  cpu: CpuClock | null;
  /** The harness's connection; null for a Redis. */
  admin: pg.Client | null;
  /** Removes it. */
  close(): Promise<void>;
}

/** A worker in a process of its own. */
export interface OpenWorker {
  /** Handles messages from now on. Until then its connections are open and it has received nothing. */
  start(): Promise<void>;
  /** One message; of those whose latency is measured. */
  send(message: Numbered): Promise<unknown>;
  /** Settles what it has, and closes. */
  stop(): Promise<void>;
}

export type Handle = (message: Numbered) => unknown;

/** What is told of a system, and what it has to reach. */
export interface Described {
  name: string;
  summary: string;
  /** One line for every choice made for it, with the reason. */
  settings: string[];
  target?: Target;
}

/** One system with one set of settings. */
export interface WorkerSystem extends Described {
  /** @throws NotRun when something that it needs is not there */
  makeStore(place: Place): Promise<Store>;
  /** In a process of the harness. */
  connect(url: string, handle: Handle): Promise<OpenWorker>;
}
