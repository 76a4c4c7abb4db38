import { pgque } from "../systems/pgque.ts";
import { quePatched } from "../systems/que-patched.ts";
import { que } from "../systems/que.ts";
import { skipLocked } from "../systems/skip-locked.ts";
import type { System } from "../systems/system.ts";
import type { DegradationFigures } from "./degradation-results.ts";

/** A system as this scenario runs it. */
export interface DegradedSystem {
  name: string;
  system: System;
  /** The most messages one receive returns. */
  batch: number;
  /** What was measured elsewhere: an hour held at 50 jobs a second. */
  published?: Published;
}

/** Brandur Leach, 2015. What he gives no figure for is left out. */
export type Published = Partial<Pick<DegradationFigures, "backlogEnd" | "ranAwaySeconds" | "deadTuples" | "lockRatio">>;

/** In the order of help. All but pgque-batch take one message at a time, as the original does. */
export const degradedSystems: DegradedSystem[] = [
  {
    name: "que",
    system: que,
    batch: 1,
    published: { backlogEnd: 60_000, ranAwaySeconds: 15 * 60, deadTuples: 100_000, lockRatio: 15 },
  },
  { name: "que-patched", system: quePatched, batch: 1, published: { backlogEnd: 30_000 } },
  { name: "skip-locked", system: skipLocked, batch: 1 },
  { name: "pgque", system: pgque, batch: 1 },
  { name: "pgque-batch", system: pgque, batch: 100 },
];

export const degradedSystemNames = degradedSystems.map(({ name }) => name);

export function degradedSystemNamed(name: string): DegradedSystem {
  const found = degradedSystems.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}
