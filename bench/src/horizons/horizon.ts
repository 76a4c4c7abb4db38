import type pg from "pg";

/** What a horizon is given: the database of one trial and what goes on in it. */
export interface HorizonContext {
  /** Opens a connection that does nothing else. Who opened it ends it. */
  connect: (role: string) => Promise<pg.Client>;
  /** Where the holder is looked at from; in the same database, idle otherwise. */
  admin: pg.Client;
  /** The same database for a connection of another kind. */
  url: string;
  /** How long it is to be held. */
  heldSeconds: number;
  systemName: string;
  /** Messages the load has sent so far. */
  sent: () => number;
}

/** What was seen of a holder from another session. */
export interface Proof {
  /** How far back the row versions of the database's tables are kept, in transactions. */
  xminAge: number;
  /** The same of the system catalogs, where they alone are held. */
  catalogXminAge?: number;
  /** WAL that the server keeps for the holder. */
  retainedWalBytes?: number;
  /** Tables that the holder has locked, in ACCESS SHARE mode. */
  tablesLocked?: number;
  /** Messages that are kept for a consumer that does not take them. */
  messagesKept?: number;
  /** Of a horizon that moves on in steps. */
  steps?: Steps;
}

/** How a horizon moved on: it was never let go, and the oldest holder never younger than just after a step. */
export interface Steps {
  count: number;
  /** What each query takes at least. */
  querySeconds: number;
  /** The least age of the oldest holder just after a step, in transactions; null before the first. */
  xminAgeMin: number | null;
  ageSecondsMin: number | null;
}

/** Holds from `hold` to `release`. */
export interface Holder {
  /** Looks, from another session, whether it has held ever since `hold`; throws with the reason when it has not. */
  prove: () => Promise<Proof>;
  /** Lets go, and returns once another session sees that nothing is left of it. Also after `prove` has thrown. */
  release: () => Promise<void>;
}

/** One way to hold back VACUUM, or what else keeps a queue from giving its space back. */
export interface Horizon {
  name: string;
  summary: string;
  /** What it is, after "with", where it does not hold back VACUUM of tables. Default: "the horizon held by" and its name. */
  inWords?: string;
  /** What an embedded server has to be started with; all trials of a run have the same. */
  serverSettings?: Record<string, string | number>;
  /** @throws NotRun when this server, or the system under test, cannot have it */
  check?(context: HorizonContext): Promise<void>;
  /** @throws NotRun as `check`, when it takes the attempt to find out */
  hold(context: HorizonContext): Promise<Holder>;
}
