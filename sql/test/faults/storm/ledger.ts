/** What really happened in a storm, kept outside Postgres. */

/** Unknown: the answer to the commit was lost. */
export type Fate = "committed" | "rolled back" | "unknown";

export interface Sent {
  fate: Fate;
  /** When it is due at the earliest, ms. */
  dueAt: number;
}

/** How a delivery was settled by the worker that had it. */
export interface End {
  how: "ack" | "nack" | "release" | "snooze" | "bury";
  /** False: the answer was lost, it may not have happened. */
  certain: boolean;
  /** When the message may come again at the earliest, ms. */
  notBefore: number;
}

/** One message in one batch. */
export interface Delivery {
  consumer: string;
  batch: string;
  id: string;
  payload: string;
  attempt: number;
  at: number;
  /** Until when nobody may take it away, ms: moves on with heartbeats. */
  leaseUntil: number;
  /** Of the transaction that received it. */
  transaction: Fate;
  ends: End[];
}

export interface DeadLetter {
  consumer: string;
  payload: string;
  attempt: number;
}

export interface Ledger {
  sent: Map<string, Sent>;
  deliveries: Delivery[];
  /** When receives were asked for whose answer was lost and whose batch could not be looked up afterwards. */
  lost: { consumer: string; askedAt: number }[];
  cancelled: number;
  /** Calls that said that the lease is gone. */
  refused: number;
}

export function newLedger(): Ledger {
  return { sent: new Map(), deliveries: [], lost: [], cancelled: 0, refused: 0 };
}
