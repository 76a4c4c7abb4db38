import type pg from "pg";
import type { Target } from "../scenario/target.ts";
import type { Order } from "../load/order.ts";
import type { CpuClock } from "../measure/server-cpu.ts";

/** `many`: many messages in one call, on one connection. `one`: one message in one call and transaction. */
export type Group = "many" | "one";

/** What a sender is given: a fresh database with Pgque's schema, its queue and the plain table in it. */
export interface Site {
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
export interface Sender {
  name: string;
  group: Group;
  summary: string;
  /** One line for every choice made for it, with the reason. */
  settings: string[];
  /** What the ratio of this row has to reach: of the group `many` pgque / this, of the group `one` this / insert. */
  target?: Target;
  /** @throws NotRun when something that it needs is not there */
  open(site: Site): Promise<OpenSender>;
}
