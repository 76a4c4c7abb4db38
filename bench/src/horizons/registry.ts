import { analytics } from "./analytics.ts";
import type { Horizon } from "./horizon.ts";
import { idleInTransaction } from "./idle-in-transaction.ts";
import { laggingConsumer } from "./lagging-consumer.ts";
import { logicalSlot } from "./logical-slot.ts";
import { none } from "./none.ts";
import { pgDump } from "./pg-dump.ts";
import { prepared } from "./prepared.ts";
import { repeatableRead } from "./repeatable-read.ts";
import { retainDeadTuples } from "./retain-dead-tuples.ts";
import { standbyFeedback } from "./standby-feedback.ts";

/** Of the scenario xmin only the first two run unless others are asked for. */
export const horizons: Horizon[] = [
  none,
  repeatableRead,
  idleInTransaction,
  prepared,
  pgDump,
  standbyFeedback,
  analytics,
  retainDeadTuples,
  logicalSlot,
  laggingConsumer,
];

export const horizonNames = horizons.map(({ name }) => name);

export function horizonNamed(name: string): Horizon {
  const found = horizons.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no horizon ${name}`);
  return found;
}

/** What an embedded server has to be started with for all of these horizons. */
export function serverSettingsFor(names: string[]): Record<string, string | number> {
  return Object.assign({}, ...names.map((name) => horizonNamed(name).serverSettings));
}
