import type { Pool } from "pg";
import { field } from "../options/field.ts";
import { pooledQuery } from "./abortable.ts";

/** Whether the connections of a pool keep the statements that are prepared on them. */
const keeping = new WeakMap<Pool, boolean>();

/**
 * Asks once a pool. A pooler, whose connections may have another server process for each transaction, told another process id at login.
 *
 * @throws NotConnected when nothing was sent
 */
export async function keepsStatements(pool: Pool, signal: AbortSignal): Promise<boolean> {
  const known = keeping.get(pool);
  if (known !== undefined) return known;
  const statement = { text: "select pg_backend_pid() as pid" };
  let told: unknown;
  const { rows } = await pooledQuery(pool, statement, signal, (client) => {
    told = field(client, "processID");
    return client.query(statement);
  });
  const keeps = Number(rows[0]?.["pid"]) === told;
  keeping.set(pool, keeps);
  return keeps;
}

/** No prepared statement of that name, one already, or one whose result is another by now. */
const codes = new Set<unknown>(["26000", "42P05"]);
const changed = "RevalidateCachedQuery";

/** Whether a statement failed for the only reason that it was prepared, and so had no effect. Its pool is then taken for one that keeps none. */
export function wasNotKept(pool: Pool, error: unknown): boolean {
  const isSo = codes.has(field(error, "code")) || field(error, "routine") === changed;
  if (isSo) keeping.set(pool, false);
  return isSo;
}
