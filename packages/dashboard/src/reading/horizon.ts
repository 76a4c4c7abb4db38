import type { Pgque } from "@pgque/client";
import { findHolders, type Holder } from "@pgque/client/horizon";
import { part, type Part } from "./overview.ts";

/** Everybody who holds the xmin horizon, as it was at one time. */
export interface Horizon {
  /** When it was read, ISO 8601. */
  at: string;
  /** Who holds back most first; short statements and holders of the system catalog included. */
  holders: Part<Holder[]>;
}

/** Reads it anew. */
export async function readHorizon(pgque: Pgque): Promise<Horizon> {
  const holders = await part(findHolders(pgque.pool));
  return { at: new Date().toISOString(), holders };
}
