import { Logger, makeWorkerUtils, type WorkerUtils } from "graphile-worker";
import type { Pool } from "pg";
import type { TestDatabase } from "../support/database.ts";

export const logger = new Logger(() => () => undefined);

/** A pool as the library wants it. */
export function listenedTo(database: TestDatabase): Pool {
  const pool = database.pool();
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/** The library on the test's database, with its schema. */
export async function graphileWorker(database: TestDatabase): Promise<WorkerUtils> {
  const utils = await makeWorkerUtils({ pgPool: listenedTo(database), logger });
  await utils.migrate();
  return utils;
}
