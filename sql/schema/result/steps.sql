-- Steps: results that a handler has stored on its way, so that the next attempt at its message, on whatever worker, goes on from there. A message whose handler
-- has none has no row here.
--
-- They are kept by message, not by batch: so they outlive retries, snoozes, lost leases, and a redrive of the dead letter. A row whose name is null says that
-- the message is done; rotate_expiring copies none of its rows. Three tables take turns, as with dedupe keys and results.

create table step (
  segment int not null,
  -- of the queue: its number may be given out again, this is not
  queue_uid bigint not null,
  message_id bigint not null,
  -- by name: a redrive is to whoever has that name
  consumer text not null,
  -- null: the message is done
  name text,
  -- JSON; null for none
  result text,
  stored_at timestamptz not null,
  expires_at timestamptz not null
) partition by list (segment);

create table step_0 partition of step for values in (0) with (autovacuum_enabled = off);
create table step_1 partition of step for values in (1) with (autovacuum_enabled = off);
create table step_2 partition of step for values in (2) with (autovacuum_enabled = off);
create index step_by_message on step (queue_uid, message_id);

comment on table step is 'Results that handlers have stored on their way, until their messages are done.';

-- Which table takes inserts, and since when: see segment_pointer.
create sequence step_pointer minvalue 0;
select setval('step_pointer', pointer_to(0));

-- So long a step is kept of a message that is not done, since it was stored.
create function step_ttl() returns interval
language sql
immutable
return interval '90 days';

-- Stores the result of a step of a message that the caller has in hand, unless a step of that name is there: the first one stays. result: JSON of 256 KiB at
-- most; null: none. Nobody can take the batch away meanwhile.
-- 1 done (also when it was there before), 0 (with a warning) the batch is unknown or finished, the message settled, or the lease lost: nothing is stored.
-- Errors: PQ004 a name that is not of 1 to 200 bytes, a result that is no JSON or too large.
create function store_step(batch_id bigint, message_id bigint, name text, result text, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_variable
declare
  of_queue constant int := batch_queue(batch_id);
  of_consumer text;
  state record;
begin
  perform require_receive(caller, of_queue);
  if name is null or octet_length(name) not between 1 and 200 then
    raise exception using errcode = 'PQ004', message = format('expected the name of a step to have 1 to 200 bytes, got: %s', coalesce(quote_literal(left(name, 100)), 'NULL'));
  end if;
  perform check_json(result, format('the result of step %L', name), 262144);
  if to_regclass(format(qualified('{schema}.batch_%s_%s'), of_queue, batch_segment(batch_id))) is not null then
    execute format(qualified($sql$
      select c.name from {schema}.batch_%s_%s b join {schema}.consumer c on c.id = b.consumer_id where b.id = $1 for no key update of b
    $sql$), of_queue, batch_segment(batch_id)) into of_consumer using batch_id;
  end if;
  state := batch_state(batch_id);
  if of_consumer is null or state.final or message_id = any (state.settled) then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  insert into step
  select pointer_segment(pg_sequence_last_value('step_pointer')), q.uid, message_id, of_consumer, name, result, clock_timestamp(), clock_timestamp() + step_ttl()
    from queue q
   where q.id = of_queue
     and not exists (
       select from step s where s.queue_uid = q.uid and s.message_id = store_step.message_id and s.consumer = of_consumer and s.name = store_step.name
     );
  return 1;
end
$$;

-- The steps of a message that are stored, the oldest first; of one that is done for as long as its table is kept.
-- Errors: PQ001 no such queue; a role without the right to receive from it or to look at all.
create function steps(queue text, message_id bigint, consumer text default 'default', caller caller default current_user)
returns table (name text, result text, stored_at timestamptz)
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  perform viewable_queue(caller, queue);
  return query
    select s.name, s.result, s.stored_at
      from step s
     where s.queue_uid = (select q.uid from queue q where q.name = steps.queue)
       and s.message_id = steps.message_id
       and s.consumer = steps.consumer
       and s.name is not null
     order by s.stored_at, s.name;
end
$$;

-- Says that messages are done for a consumer, after that has been committed: their steps are not kept. A message without steps is passed over.
create function forget_steps(queue text, consumer text, message_ids bigint[], caller caller default current_user) returns void
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  insert into step
  select pointer_segment(pg_sequence_last_value('step_pointer')), q.uid, m.id, forget_steps.consumer, null, null, clock_timestamp(), clock_timestamp() + step_ttl()
    from queue q
   cross join (select distinct unnest(message_ids) as id) m
   where q.id = receivable_queue(caller, forget_steps.queue)
     and exists (select from step s where s.queue_uid = q.uid and s.message_id = m.id and s.consumer = forget_steps.consumer);
end
$$;
