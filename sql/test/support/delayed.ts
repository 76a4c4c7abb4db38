import type pg from "pg";

/** The far store begins after half a second, and tables are collected as soon as half of a few pages has been moved. */
export async function hurryDelayed(admin: pg.Client): Promise<void> {
  await admin.query(`
    create or replace function pgque.delayed_soon_span() returns interval language sql immutable return interval '0.5 s';
    create or replace function pgque.pointer_moved_at(pointer bigint) returns timestamptz language sql immutable parallel safe
      return to_timestamp((pointer >> 10) / 1000.0) - interval '1 min';
    create or replace function pgque.delayed_bytes_min() returns bigint language sql immutable return 32768`);
}
