-- What a queue stores, and in what.
--
-- A queue is a ring of segments, three to begin with. A segment is one generation of three tables that are truncated
-- together once it is drained; queue 7's segment 0 is message_7_0, batch_7_0, outcome_7_0.
--
--   message   what was sent, and what is tried again for one consumer. Inheritance, not partitioning: senders insert
--             straight into a child and take no lock on the parent.
--   batch     the log of each (consumer, lane): what was received, under which lease. Its newest row IS the cursor.
--   outcome   how batches ended. It lies in the segment of its batch, whatever segment takes inserts by then: a unique
--             constraint does not span the ring.
--
-- Autovacuum is off: segments are truncated long before freezing matters.

-- The tables that a queue's segments belong to.
create function create_segment_parents(queue_id int) returns void
language plpgsql
set search_path from current
as $$
begin
  execute render($ddl$
    create table {schema}.message_${queue} (
      -- of the top-level transaction, so savepoints do not matter
      txid xid8 not null default pg_current_xact_id(),
      -- one value per row; orders the messages of one transaction
      seq bigint not null,
      -- stable across attempts; seq of the first one
      id bigint not null,
      created_at timestamptz not null default clock_timestamp(),
      -- null: for every consumer
      consumer_id int,
      attempt smallint not null default 1,
      -- how many processes have ended with it in hand, since its handler last came to an end; null: none
      crashes smallint,
      lane smallint not null default 0,
      -- what the lane was found by, on a queue with lane_by = key
      key text,
      -- not delivered from then on; null: always
      expires_at timestamptz,
      type text not null,
      payload text,
      headers jsonb
    ) with (autovacuum_enabled = off);
    create index on {schema}.message_${queue} (lane, txid, seq);

    create table {schema}.batch_${queue} (
      segment smallint not null,
      consumer_id int not null,
      lane smallint not null default 0,
      -- counts the rows of a (consumer, lane); the highest is the cursor
      batch_no bigint not null,
      -- null: a row that only moves the cursor
      id bigint,
      -- The window is what next_snapshot sees and prev_snapshot does not. Null: the window of row window_batch_no, which lies
      -- in the same segment.
      prev_snapshot pg_snapshot,
      next_snapshot pg_snapshot,
      window_batch_no bigint not null,
      -- which segments hold the window's messages, and each one's first and last txid. Null: not known, look into all
      window_segments int[],
      window_mins xid8[],
      window_maxs xid8[],
      -- position (txid, seq) of the first and the last message of the batch; the last is where the cursor stands
      first_txid xid8,
      first_seq bigint,
      last_txid xid8 not null,
      last_seq bigint not null,
      messages int not null,
      -- messages that this cursor has passed over, ever, because they had expired
      expired bigint not null default 0,
      -- of that range these messages only, each at its attempt; null: all, each at its own
      remainder_ids bigint[],
      remainder_attempts smallint[],
      remainder_crashes smallint[],
      -- nothing is left of the window: the next receive need not look
      exhausted boolean not null default false,
      -- every batch of this (consumer, lane) before this batch_no is finished, except those still_open names
      settled_before bigint not null default 1,
      still_open bigint[],
      worker text,
      -- the worker says which suspects it begins: see settle/lost.sql. Null: it does not
      reports_started boolean,
      created_at timestamptz not null default clock_timestamp(),
      lease_until timestamptz,
      -- the rest of an ordered batch, which is handed out to nobody before this time
      waits_until timestamptz,
      -- of a consumer with a rate limit: see receive/limits.sql
      rate_until timestamptz
    ) partition by list (segment);
    create index on {schema}.batch_${queue} (consumer_id, lane, batch_no);
    create index on {schema}.batch_${queue} (id);

    create table {schema}.outcome_${queue} (
      segment smallint not null,
      batch_id bigint not null,
      -- counts the outcomes of a batch: two that are written at once cannot overlook each other
      n int not null,
      -- the batch is finished: what no outcome names was acked
      final boolean not null,
      -- the messages this outcome settles
      message_ids bigint[] not null default '{}',
      -- settles nothing: the handler of this message begins, alone in its process or beside others; see settle/lost.sql
      started bigint,
      alone boolean,
      created_at timestamptz not null default clock_timestamp(),
      primary key (batch_id, n, segment)
    ) partition by list (segment);

    create sequence {schema}.message_seq_${queue} owned by {schema}.message_${queue}.seq;
    create sequence {schema}.batch_seq_${queue} maxvalue 134217727 cycle owned by {schema}.batch_${queue}.id;
    create sequence {schema}.segment_pointer_${queue} minvalue 0 owned by {schema}.message_${queue}.txid;
    create sequence {schema}.lock_attempts_${queue} minvalue 0 owned by {schema}.message_${queue}.txid;
    create sequence {schema}.idle_${queue} minvalue 0 owned by {schema}.message_${queue}.txid;
  $ddl$, jsonb_build_object('queue', queue_id));
  perform setval(relation(format('segment_pointer_%s', queue_id)), pointer_to(0));
  perform setval(relation(format('lock_attempts_%s', queue_id)), 0);
  perform revoke_all(array(select format('%s_%s', kind, queue_id) from unnest('{message,batch,outcome,message_seq,batch_seq,segment_pointer,lock_attempts,idle}'::text[]) as kind));
  if allows_cancel(queue_id) then
    perform create_cancellations(queue_id);
  end if;
  -- nothing has happened, and nothing is to be done: see rotation/idle.sql
  perform setval(relation(format('idle_%s', queue_id)), 4294967295 << 31);
end
$$;

-- Adds one segment to the ring of a queue, and makes the queue's functions know it.
--
-- Receivers hold ROW EXCLUSIVE on the parent of the batch tables from before their first look until their transaction
-- ends; EXCLUSIVE conflicts with it and with no sender, no ack and no reader (pg_dump). Without it, a second receive in one
-- transaction runs on a plan that does not know the new segment, moves its cursor past messages in it and loses them.
create function create_segment(queue_id int, segment int) returns void
language plpgsql
set search_path from current
as $$
declare
  kind text;
begin
  execute format(qualified('lock table only {schema}.batch_%s in exclusive mode'), queue_id);
  execute render($ddl$
    create table {schema}.message_${queue}_${segment} () inherits ({schema}.message_${queue}) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
    create index on {schema}.message_${queue}_${segment} (lane, txid, seq);
  $ddl$, jsonb_build_object('queue', queue_id, 'segment', segment));
  -- attached, not created as partitions: that would need ACCESS EXCLUSIVE on the parents, and wait for pg_dump
  foreach kind in array array['batch', 'outcome'] loop
    execute render($ddl$
      create table {schema}.${kind}_${queue}_${segment} (like {schema}.${kind}_${queue} including all) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
      alter table {schema}.${kind}_${queue} attach partition {schema}.${kind}_${queue}_${segment} for values in (${segment});
    $ddl$, jsonb_build_object('kind', kind, 'queue', queue_id, 'segment', segment));
  end loop;
  if allows_cancel(queue_id) then
    perform create_cancellations_of_segment(queue_id, segment);
  end if;
  perform revoke_all(array(select format('%s_%s_%s', of_kind, queue_id, segment) from unnest('{message,batch,outcome}'::text[]) as of_kind));
end
$$;

-- How many segments the ring of a queue has; they are numbered from 0.
create function segment_count(queue_id int) returns int
language plpgsql
stable
set search_path from current
as $$
begin
  return (select count(*)::int from pg_inherits where inhparent = to_regclass(format(qualified('{schema}.message_%s'), queue_id)));
end
$$;

-- What tables of a segment take on disk in bytes, with their TOAST, without indexes.
create function segment_bytes(queue_id int, segment int, kinds text[] default '{message,batch,outcome}') returns bigint
language sql
volatile
set search_path from current
begin atomic
  select sum(pg_relation_size(c.oid) + case when c.reltoastrelid = 0 then 0 else pg_relation_size(c.reltoastrelid) end)::bigint
    from unnest(kinds) as kind
    join pg_class c on c.oid = relation(format('%s_%s_%s', kind, queue_id, segment));
end;

-- Somebody is truncating or creating this table: the transaction that does it has not ended.
create function is_being_truncated(relation regclass) returns boolean
language sql
volatile
set search_path from current
begin atomic
  select exists (
    select from pg_locks l
     where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and l.relation = is_being_truncated.relation
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
end;
