import type pg from "pg";
import type { Tally } from "../load/tally.ts";
import type { Numbered, Order } from "../load/messages.ts";
import type { CpuClock } from "../measure/processes.ts";
import type { Target } from "../runner/target.ts";
import type { Server } from "../runner/server.ts";

/** A way to use a system: a row of a table. */
export interface Described {
  name: string;
  /** How it handles a message, and where that algorithm comes from. */
  summary: string;
  /** One line for every choice made for it, with the reason. */
  settings: string[];
  /** The ratio or latency that its row has to reach. Of senders: of the group `many` pgque / this, of the group `one` this / insert. */
  target?: Target;
}

/** Everything that the benchmark knows of one system. A capability that it does not have is left out. */
export interface Adapter {
  /** Create, send, receive and finish under a load of the harness: xmin, compare, throughput, soak. */
  load?: System[];
  /** Send one or many, as fast as it goes: send. */
  send?: Sender[];
  /** Worker processes that drain a backlog: drain. */
  drain?: WorkerSystem[];
  /** The same with one message at a time: latency. */
  latency?: WorkerSystem[];
  /** Workers of one process, beside senders of another: rates. */
  rates?: WorkerSystem[];
  /** Pick by priority: priority. */
  pick?: Picker[];
  /** The load of que-degradation-test: degradation. */
  degradation?: DegradedSystem[];
}

/** What a system is given to set itself up in the fresh database of one trial. */
export interface Workload {
  /** The harness's own connection: for the schema, not for the load. */
  admin: pg.Client;
  /** Opens a connection that the harness closes. `synchronous_commit` is the run's unless said otherwise. */
  connect: (role: string, options?: { synchronousCommit?: "on" | "off" }) => Promise<pg.Client>;
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

export interface System extends Described {
  /** Every table in it is counted. Null: it keeps nothing in PostgreSQL. */
  schema: string | null;
  /** The tables that a rotation empties, one for each segment. */
  segments: RegExp | null;
  /** @throws NotRun when something that it needs is not there */
  open(workload: Workload): Promise<RunningSystem>;
}

/** `many`: many messages in one call, on one connection. `one`: one message in one call and transaction. */
export type Group = "many" | "one";

/** What a sender is given: a fresh database with Pgque's schema, its queue and the plain table in it. */
export interface SendSite {
  /** The harness's own connection to the database. */
  admin: pg.Client;
  /** A pool of at most so many connections, which the harness ends. `synchronous_commit` is the run's. */
  pool: pg.Pool;
  connections: number;
  /** What is sent: all of them in one call of the group `many`, in turn by the group `one`. */
  payloads: readonly Order[];
}

/** A sender that has connected. */
export interface OpenSender {
  /** One call. The harness keeps as many under way as there are connections. */
  send: (payloads: readonly Order[]) => Promise<unknown>;
  /** How many messages there are now: what was sent and is not there was not sent. */
  stored(): Promise<number>;
  /** Of a server other than PostgreSQL. */
  server?: CpuClock;
  /** What it opened itself, not the pool. */
  close?(): Promise<void>;
}

/** One way to send. */
export interface Sender extends Described {
  group: Group;
  /** @throws NotRun when something that it needs is not there */
  open(site: SendSite): Promise<OpenSender>;
}

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
  /** How often the database was asked for messages; left out where it cannot be seen. */
  receives?(): number;
  /** Settles what it has, and closes. */
  stop(): Promise<void>;
}

export type Handle = (message: Numbered) => unknown;

/** One system with one set of settings. */
export interface WorkerSystem extends Described {
  /** @throws NotRun when something that it needs is not there */
  makeStore(place: Place): Promise<Store>;
  /** In a process of the harness. `workers`: how many there are in it, where the scenario says. Default: one. */
  connect(url: string, handle: Handle, workers?: number): Promise<OpenWorker>;
}

/** A job as a worker is given it. */
export interface Job {
  number: number;
  priority: number;
}

/** Called for every job that was picked, while it is held. */
export type Work = (payload: string) => void;

export interface PickSite {
  /** For the schema and the jobs. */
  admin: pg.Client;
  /** A worker's own connection. */
  connect: (role: string, options?: { synchronousCommit?: "on" | "off" }) => Promise<pg.Client>;
}

/** A way to pick the job with the highest priority, one at a time. */
export interface Picker extends Described {
  /** What its author has published for 10,000 jobs and eight workers, in seconds, on another machine. */
  publishedSeconds?: number;
  /** Instead of the workers that are asked for. */
  connections?: number;
  /** False: it is no queue, and knows of no priority. Default: true. */
  ordered?: boolean;
  /** Makes its tables, and puts the jobs there. */
  prepare(site: PickSite, payloads: { priority: number; payload: string }[]): Promise<void>;
  /** A worker: each call picks a job, works on it and finishes it; false when there is none. */
  worker(site: PickSite, work: Work): Promise<() => Promise<boolean>>;
}

/** A system as the scenario `degradation` runs it. */
export interface DegradedSystem {
  name: string;
  system: System;
  /** The most messages one receive returns. */
  batch: number;
  /** Reference results: an hour held at 50 jobs a second. Brandur Leach, 2015; without figures that he does not give. */
  published?: Partial<Record<"backlogEnd" | "ranAwaySeconds" | "deadTuples" | "lockRatio", number>>;
}
