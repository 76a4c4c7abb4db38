import type pg from "pg";
import { until } from "./until.ts";

/** A statement that was started in one session and waits for another. */
export interface Blocked<T> {
  /** Its result, once the other session has let it go. */
  result: Promise<T>;
}

/** Starts a statement and proves that it waits for a lock: the second half of a scripted interleaving. */
export async function blocked<T extends pg.QueryResultRow>(
  observer: pg.Client,
  session: pg.Client,
  statement: string,
  values: unknown[] = [],
): Promise<Blocked<pg.QueryResult<T>>> {
  const pid = await backendPid(session);
  const run = { ended: false };
  const result = session.query<T>(statement, values).finally(() => (run.ended = true));
  // whoever awaits the result sees the failure; until then it must not end the process
  result.catch(() => undefined);
  await until(async () => {
    if (run.ended) throw new Error(`expected this statement to wait for a lock, it ended: ${statement}`);
    const { rows } = await observer.query("select wait_event_type from pg_stat_activity where pid = $1", [pid]);
    return rows[0]?.wait_event_type === "Lock";
  }, `this statement waits for a lock: ${statement}`);
  return { result };
}

export async function backendPid(session: pg.Client): Promise<number> {
  const { rows } = await session.query("select pg_backend_pid() as pid");
  return rows[0].pid;
}
