import { none } from "./horizons/none.ts";
import { repeatableRead } from "./horizons/repeatable-read.ts";
import type { Horizon } from "./horizons/horizon.ts";
import { pgqueWorker } from "./systems/pgque-worker.ts";
import { pgque } from "./systems/pgque.ts";
import { skipLockedDelete } from "./systems/skip-locked-delete.ts";
import { skipLocked } from "./systems/skip-locked.ts";
import type { System } from "./systems/system.ts";

/** In the order of the tables; pgque-worker and skip-locked-delete run only when asked for. */
export const systems: System[] = [pgque, skipLocked, skipLockedDelete, pgqueWorker];
export const horizons: Horizon[] = [none, repeatableRead];

export const systemNames = systems.map(({ name }) => name);
export const horizonNames = horizons.map(({ name }) => name);

function named<T extends { name: string }>(all: T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

export const systemNamed = (name: string): System => named(systems, name);
export const horizonNamed = (name: string): Horizon => named(horizons, name);
