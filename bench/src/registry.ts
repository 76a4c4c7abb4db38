import { analytics } from "./horizons/analytics.ts";
import type { Horizon } from "./horizons/horizon.ts";
import { idleInTransaction } from "./horizons/idle-in-transaction.ts";
import { laggingConsumer } from "./horizons/lagging-consumer.ts";
import { logicalSlot } from "./horizons/logical-slot.ts";
import { none } from "./horizons/none.ts";
import { pgDump } from "./horizons/pg-dump.ts";
import { prepared } from "./horizons/prepared.ts";
import { repeatableRead } from "./horizons/repeatable-read.ts";
import { retainDeadTuples } from "./horizons/retain-dead-tuples.ts";
import { standbyFeedback } from "./horizons/standby-feedback.ts";
import { advisoryLock } from "./systems/advisory-lock.ts";
import { bullmqPostgres } from "./systems/bullmq-postgres.ts";
import { bullmq } from "./systems/bullmq-redis.ts";
import { graphileWorker } from "./systems/graphile-worker.ts";
import { lockMultiple } from "./systems/lock-multiple.ts";
import { pgBoss } from "./systems/pg-boss.ts";
import { pgmq } from "./systems/pgmq.ts";
import { pgqUniversal } from "./systems/pgq-universal.ts";
import { pgq } from "./systems/pgq.ts";
import { pgqueWorker } from "./systems/pgque-worker.ts";
import { pgque } from "./systems/pgque.ts";
import { quePatched } from "./systems/que-patched.ts";
import { que } from "./systems/que.ts";
import { queueClassic } from "./systems/queue-classic.ts";
import { redisBatch } from "./systems/redis-batch.ts";
import { skipLockedDelete } from "./systems/skip-locked-delete.ts";
import { skipLocked } from "./systems/skip-locked.ts";
import type { System } from "./systems/system.ts";

/** In the order in which help names them; all but pgque and skip-locked run only when asked for. */
export const systems: System[] = [
  pgque,
  pgqueWorker,
  skipLocked,
  skipLockedDelete,
  advisoryLock,
  que,
  quePatched,
  lockMultiple,
  queueClassic,
  redisBatch,
  graphileWorker,
  pgBoss,
  bullmq,
  bullmqPostgres,
  pgmq,
  pgq,
  pgqUniversal,
];
/** Only the first two run unless others are asked for. */
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

export const systemNames = systems.map(({ name }) => name);
export const horizonNames = horizons.map(({ name }) => name);

function named<T extends { name: string }>(all: T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

export const systemNamed = (name: string): System => named(systems, name);
export const horizonNamed = (name: string): Horizon => named(horizons, name);

/** What an embedded server has to be started with for all of these horizons. */
export function serverSettingsFor(names: string[]): Record<string, string | number> {
  return Object.assign({}, ...names.map((name) => horizonNamed(name).serverSettings));
}
