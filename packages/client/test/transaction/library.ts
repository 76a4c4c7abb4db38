import type { Transaction } from "@pgque/client";

/** A library under test, as an application uses it. */
export interface Library<Tx extends Transaction> {
  /** Connects to a database, with so many connections at most. */
  open(url: string, connectionsMax: number): Promise<Opened<Tx>>;
  /** The SQLSTATE of an error of the library, as an application finds it. */
  sqlstateOf(error: unknown): unknown;
}

/** An application's database. */
export interface Opened<Tx extends Transaction> {
  /** Commits when the work is done, rolls back when it throws. */
  transaction<T>(work: (tx: Tx) => Promise<T>, isolation?: "serializable"): Promise<T>;
  /** A transaction in it: a savepoint, rolled back to when the work throws. */
  nested<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs a statement of the application's own in a transaction. */
  run(tx: Tx, statement: string): Promise<unknown>;
  end(): Promise<void>;
}
