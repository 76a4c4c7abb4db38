import { randomBytes } from "node:crypto";
import type pg from "pg";
import { NotRun } from "../runner/failure.ts";
import type { Look } from "./held.ts";

/** For what outlives a session or is seen by the whole server. */
export const uniqueName = (): string => `pgque_bench_${randomBytes(6).toString("hex")}`;

/**
 * @param enough whether the setting, as the server shows it, will do
 * @throws NotRun when it will not
 */
export async function needsSetting(
  admin: pg.Client,
  name: string,
  { enough, expected }: { enough: (value: string) => boolean; expected: string },
): Promise<void> {
  const { rows } = await admin.query<{ value: string }>("select current_setting($1) as value", [name]);
  const value = rows[0]?.value ?? "";
  if (enough(value)) return;
  throw new NotRun(`${name} is ${value} on this server: set it to ${expected} and restart it`);
}

export const atLeastOne = { enough: (value: string): boolean => Number(value) > 0, expected: "1 or more" };

/** @throws NotRun when the server cannot give a slot of the kind asked for, or not to this role */
export async function needsSlot(admin: pg.Client, walLevels: string[]): Promise<void> {
  const { rows: roles } = await admin.query<{ role: string; allowed: boolean }>(
    "select quote_ident(rolname) as role, rolreplication or rolsuper as allowed from pg_roles where rolname = current_user",
  );
  const role = roles[0]?.role;
  if (!roles[0]?.allowed) throw new NotRun(`role ${role} has no right to replicate: alter role ${role} replication`);
  const expected = walLevels.join(" or ");
  await needsSetting(admin, "wal_level", { enough: (value) => walLevels.includes(value), expected });
  const { rows } = await admin.query<{ free: boolean; max: string }>(
    `select count(*) < current_setting('max_replication_slots')::int as free, current_setting('max_replication_slots') as max
       from pg_replication_slots`,
  );
  if (!rows[0]?.free)
    throw new NotRun(`all ${rows[0]?.max} replication slots of this server are taken: raise max_replication_slots`);
}

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
