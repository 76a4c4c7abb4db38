/**
 * The table of a segment without the queue around it: the same columns, defaults and index, and a sequence for what the queue's
 * functions fill in.
 */
export const rawTable = `
  create schema raw;
  create sequence raw.message_seq;
  create table raw.message (like pgque.message_1 including all) with (autovacuum_enabled = off);
  alter table raw.message
    alter seq set default nextval('raw.message_seq'),
    alter id set default currval('raw.message_seq')`;

/**
 * The same for COPY, with defaults that let it fill page after page: it inserts row by row when one is volatile and not nextval(), as
 * clock_timestamp() and currval() are.
 */
export const copyTable = `
  create sequence raw.copied_seq;
  create sequence raw.copied_id;
  create table raw.copied (like raw.message including all) with (autovacuum_enabled = off);
  alter table raw.copied
    alter seq set default nextval('raw.copied_seq'),
    alter id set default nextval('raw.copied_id'),
    alter created_at set default now()`;

/** One message: its type and its payload. */
export const rawInsert = {
  name: "insert",
  text:
    "insert into raw.message (seq, id, type, payload, headers) " +
    "values (nextval('raw.message_seq'), currval('raw.message_seq'), $1, $2, null)",
};

/** Many messages: their type and their payloads. Returns their ids, as send_batch does. */
export const rawInsertMany = `
  with inserted as (
    insert into raw.message (type, payload) select $1, m.payload from unnest($2::text[]) as m(payload) returning id
  )
  select array_to_string(array_agg(id), ',') as ids from inserted`;
