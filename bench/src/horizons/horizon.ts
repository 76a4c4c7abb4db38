import type pg from "pg";

export interface HorizonContext {
  /** A connection that does nothing else and is closed by the harness. */
  connect: (role: string) => Promise<pg.Client>;
  /** Where the holder is looked at from. */
  admin: pg.Client;
}

/** Holds the xmin horizon from `hold` to `release`. */
export interface Holder {
  /**
   * Looks, from another session, whether the horizon has been held since `hold`. Returns its age in transactions; throws
   * with the reason when it was not.
   */
  prove(): Promise<number>;
  /** Lets go, and returns once another session sees that nothing is held any more. */
  release(): Promise<void>;
}

export interface Horizon {
  name: string;
  summary: string;
  hold(context: HorizonContext): Promise<Holder>;
}
