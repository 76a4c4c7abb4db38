import type pg from "pg";
import type { Look } from "./held.ts";

/**
 * How another session sees a slot.
 *
 * @param column whose horizon: `xmin` that of all tables, `catalog_xmin` that of the system catalogs alone
 */
export function lookAtSlot(
  admin: pg.Client,
  slotName: string,
  column: "xmin" | "catalog_xmin",
): () => Promise<Look | undefined> {
  const sql = `
    select active_pid::text as identity, ${column}::text as xmin, age(${column}) as age
      from pg_replication_slots
     where slot_name = $1`;
  return async () => (await admin.query<Look>(sql, [slotName])).rows[0];
}

/** WAL that the server keeps because a slot may still want it. */
export async function retainedWalBytes(admin: pg.Client, slotName: string): Promise<number> {
  const { rows } = await admin.query<{ bytes: number | null }>(
    "select (pg_current_wal_lsn() - restart_lsn)::float8 as bytes from pg_replication_slots where slot_name = $1",
    [slotName],
  );
  return rows[0]?.bytes ?? 0;
}
