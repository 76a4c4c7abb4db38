-- What waits for its time: messages sent with a delay, and retries. One store for all queues, so that a queue that delays nothing
-- costs nothing.
--
-- Messages due within an hour wait in "soon", all others in "later" until that hour has come. Each of the two is a pair of tables;
-- a sequence says which of them takes inserts. Rows leave a table by being copied, and by DELETE only when a person will not wait
-- (deliver_delayed): its log says how far it has been moved, see move_delayed. Once most of a table has been moved, the other one takes
-- over, what is left is copied there and the table is truncated: a copying collector that writes each message about once more.

-- Creates one table and the log of its moves.
create function create_delayed(name text) returns void
language plpgsql
set search_path from current
as $$
begin
  execute render($ddl$
    create table {schema}.${table:I} (
      -- of the top-level transaction, so savepoints do not matter
      txid xid8 not null default pg_current_xact_id(),
      due_at timestamptz not null check (isfinite(due_at)),
      -- counts the rows since the last truncation
      seq bigint generated always as identity,
      -- of the queue: its number may be given out again, this is not
      queue_uid bigint not null,
      id bigint not null,
      created_at timestamptz not null default clock_timestamp(),
      -- null: for every consumer
      consumer_id int,
      attempt smallint not null default 1,
      lane smallint not null default 0,
      key text,
      expires_at timestamptz,
      -- found by its id, to be cancelled; null: its queue cancels nothing
      cancellable boolean,
      type text not null,
      payload text,
      headers jsonb
    ) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
    -- deliver_delayed deletes, which a publication refuses of a table without an identity; this one costs an insert nothing
    alter table {schema}.${table:I} replica identity full;
    create index on {schema}.${table:I} (due_at, seq);
    create index on {schema}.${table:I} (txid);
    create index on {schema}.${table:I} (queue_uid, id) where cancellable;
    comment on table {schema}.${table:I} is 'Messages that wait for their time.';

    create table {schema}.${log:I} (
      n bigint primary key,
      -- a row has been moved if and only if this snapshot sees it and it is at or before (due_at, seq): see move_delayed
      snapshot pg_snapshot not null,
      due_at timestamptz not null,
      seq bigint not null,
      -- while late rows are being moved, page by page: what this snapshot sees, at or before this point, has been moved too
      late_snapshot pg_snapshot,
      late_due_at timestamptz,
      late_seq bigint,
      -- rows moved since the last truncation
      moved bigint not null,
      created_at timestamptz not null default clock_timestamp()
    ) with (autovacuum_enabled = off);
    comment on table {schema}.${log:I} is 'How far the messages of that table have been moved: the newest row says.';
  $ddl$, jsonb_build_object('table', name, 'log', name || '_log'));
end
$$;

select create_delayed('delayed_soon_0');
select create_delayed('delayed_soon_1');
select create_delayed('delayed_later_0');
select create_delayed('delayed_later_1');

create function delayed_tables() returns text[]
language sql
immutable
return '{delayed_soon_0,delayed_soon_1,delayed_later_0,delayed_later_1}'::text[];

-- Which table of each store takes inserts, and since when: see segment_pointer.
create sequence delayed_soon_pointer minvalue 0;
create sequence delayed_later_pointer minvalue 0;
select setval('delayed_soon_pointer', pointer_to(0)), setval('delayed_later_pointer', pointer_to(0));

-- What is due later than this from now waits in the later store.
create function delayed_soon_span() returns interval
language sql
immutable
return interval '1 hour';

-- The table of a store (soon, later) that takes inserts.
create function delayed_table(store text) returns text
language sql
volatile
set search_path from current
return format('delayed_%s_%s', store, pointer_segment(pg_sequence_last_value(relation(format('delayed_%s_pointer', store)))));
