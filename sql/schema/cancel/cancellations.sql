-- Cancellations: which messages are not delivered, although they were sent. A row beside the messages of a segment says so of one message, by its id, to
-- one consumer or to all; it is truncated with them. So nothing that is stored is changed.
--
-- A queue has these tables, and an index of its messages by id, if it was created with allow_cancel. Nobody else pays for either.
--
-- What lies in delayed tables is cancelled by a row beside these. The message is moved like any other, and the row with it.

-- The tables of a queue's cancellations belong to this one; the sequence is 1 while any of them may have a row, and 0 when all are empty. A receive asks that
-- first: to look into empty tables would cost it more than all the rest.
create function create_cancellations(queue_id int) returns void
language plpgsql
set search_path from current
as $$
begin
  execute render($ddl$
    create table {schema}.cancelled_${queue} (
      message_id bigint not null,
      -- by name, so that it holds for a consumer that is placed anew by seek; null: for all, those that subscribe later too
      consumer text
    ) with (autovacuum_enabled = off);
    -- never used; without them the planner has no plan by index for the segments either
    create index on {schema}.cancelled_${queue} (message_id);
    create index on {schema}.message_${queue} (id);
    create sequence {schema}.has_cancelled_${queue} minvalue 0 owned by {schema}.cancelled_${queue}.message_id;
  $ddl$, jsonb_build_object('queue', queue_id));
  perform setval(relation(format('has_cancelled_%s', queue_id)), 0);
  perform revoke_all(array(select format('%s_%s', kind, queue_id) from unnest('{cancelled,has_cancelled}'::text[]) as kind));
end
$$;

-- What one segment of such a queue has beside others.
create function create_cancellations_of_segment(queue_id int, segment int) returns void
language plpgsql
set search_path from current
as $$
begin
  execute render($ddl$
    create table {schema}.cancelled_${queue}_${segment} () inherits ({schema}.cancelled_${queue}) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
    create index on {schema}.cancelled_${queue}_${segment} (message_id);
    create index on {schema}.message_${queue}_${segment} (id);
  $ddl$, jsonb_build_object('queue', queue_id, 'segment', segment));
  perform revoke_all(array[concat_ws('_', 'cancelled', queue_id, segment)]);
end
$$;

-- Beside each delayed table, for all queues: filled only by those that cancel.
create function create_delayed_cancellations(source text) returns void
language plpgsql
set search_path from current
as $$
begin
  execute render($ddl$
    create table {schema}.${table:I} (
      queue_uid bigint not null,
      message_id bigint not null,
      consumer text
    ) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
    create index on {schema}.${table:I} (queue_uid, message_id);
    comment on table {schema}.${table:I} is 'Which messages of that table are not delivered: they were cancelled.';
  $ddl$, jsonb_build_object('table', 'cancelled_' || source));
end
$$;

select create_delayed_cancellations(source) from unnest(delayed_tables()) as source;

create function allows_cancel(queue_id int) returns boolean
language sql
stable
set search_path from current
begin atomic
  select q.allow_cancel from queue q where q.id = allows_cancel.queue_id;
end;

-- The tables of a segment, for whoever locks or truncates all of them. In the order in which acks and receives lock them.
create function segment_tables(queue_id int) returns text[]
language sql
stable
set search_path from current
return case when allows_cancel(queue_id) then '{outcome,batch,cancelled,message}'::text[] else '{outcome,batch,message}' end;

-- Fragment: the condition that message m is not cancelled for a consumer, whose name an expression gives. Empty for a queue that cancels nothing.
create function not_cancelled(queue_id int, consumer text) returns text
language sql
stable
set search_path from current
return case when allows_cancel(queue_id) then
  format(qualified('and not exists (select from {schema}.cancelled_%s x where x.message_id = m.id and (x.consumer is null or x.consumer = %s))'), queue_id, consumer)
else '' end;

-- Says that a queue has cancellations, once they are written. Who does has the lock "cancel" shared, until its transaction ends.
create function set_has_cancelled(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  perform setval(relation(format('has_cancelled_%s', queue_id)), 1);
end
$$;

-- Says that a queue has none any more, when the last of them has been truncated and that has committed. Part of maintenance.
create function clear_has_cancelled(queue_id int, segments int) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  mark regclass;
begin
  if not allows_cancel(queue_id) then
    return;
  end if;
  mark := relation(format('has_cancelled_%s', queue_id));
  if pg_sequence_last_value(mark) = 1
     and not exists (
       select from generate_series(0, segments - 1) as s(segment) where pg_relation_size(relation(format('cancelled_%s_%s', queue_id, s.segment))) > 0
     )
     and pg_try_advisory_xact_lock(lock_key('cancel', queue_id))
     -- once more: whoever had the lock may have written one
     and not exists (
       select from generate_series(0, segments - 1) as s(segment) where pg_relation_size(relation(format('cancelled_%s_%s', queue_id, s.segment))) > 0
     ) then
    perform setval(mark, 0);
  end if;
end
$$;

-- Takes the cancellations of a delayed table along with its rows: to another delayed table.
create function move_cancellations(source text, target text, tids tid[]) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if pg_relation_size(relation('cancelled_' || source)) > 0 then
    perform write_rows(render($sql$
      insert into {schema}.${target:I} (queue_uid, message_id, consumer)
      select x.queue_uid, x.message_id, x.consumer
        from {schema}.${cancelled:I} x
       where (x.queue_uid, x.message_id) in (select d.queue_uid, d.id from {schema}.${source:I} d where d.ctid = any ($1))
    $sql$, jsonb_build_object('target', 'cancelled_' || target, 'cancelled', 'cancelled_' || source, 'source', source)), tids);
  end if;
end
$$;

-- The same into the current segment of a queue. Without tids: all there are of that queue, for whoever delivers by DELETE.
create function move_cancellations(source text, queue_id int, tids tid[] default null) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if pg_relation_size(relation('cancelled_' || source)) = 0 or not allows_cancel(queue_id) then
    return;
  end if;
  perform pg_advisory_xact_lock_shared(lock_key('cancel', queue_id));
  perform write_rows(render($sql$
    insert into {schema}.cancelled_${queue}_${segment} (message_id, consumer)
    select x.message_id, x.consumer
      from {schema}.${cancelled:I} x
     where x.queue_uid = (select q.uid from {schema}.queue q where q.id = ${queue})
       and ($1 is null or x.message_id in (select d.id from {schema}.${source:I} d where d.ctid = any ($1) and d.queue_uid = x.queue_uid))
  $sql$, jsonb_build_object(
    'queue', queue_id,
    'segment', pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id)))),
    'cancelled', 'cancelled_' || source,
    'source', source
  )), tids);
  perform set_has_cancelled(queue_id);
end
$$;
