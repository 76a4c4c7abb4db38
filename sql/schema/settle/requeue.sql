-- Giving messages back. They are written again for their consumer alone: at once into the message table, or into the delayed
-- store until they are due, or into dead_letter when their attempts are used up or they are buried.

-- What becomes of one message of a batch that is not acked.
create type requeued as (
  message_id bigint,
  -- retry: tried again, one attempt further, a dead letter when its attempts are used up; snooze: comes later, at the same attempt;
  -- release: comes at once, at the same attempt; lost, crashed: the same, and one process further if it is its first or had started;
  -- bury: a dead letter now
  how text,
  -- of retry and snooze: how long until it comes again
  wait interval,
  -- of retry and bury: kept with the dead letter
  reason text
);

-- How many processes have ended with a message in hand, when it is given back. A handler that came to its end has ended none: the count begins
-- anew. Cut at what the column holds.
create function next_crashes(crashes int, how text) returns int
language sql
immutable
return case how
  when 'release' then crashes
  when 'lost' then coalesce(crashes, 1)
  when 'crashed' then least(coalesce(crashes, 0) + 1, 32000)
end;

-- A reason as it is kept: its first 10,000 characters, and how many there were if there were more. Never refused: the message would come again.
create function bounded_reason(reason text) returns text
language sql
immutable
return case when length(reason) > 10000 then left(reason, 10000) || '… (truncated: 10000 of ' || length(reason) || ' characters)' else reason end;

-- Writes messages of a batch again, each named once.
create function requeue(batch_id bigint, given requeued[]) returns void
language plpgsql
volatile
set search_path from current
-- a receive that takes a batch over has it off
set enable_hashjoin = on
as $$
declare
  of_queue constant int := batch_queue(batch_id);
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', of_queue))));
  settings queue;
begin
  perform require_same_cluster();
  select * into settings from queue q where q.id = of_queue;
  execute render($sql$
    with requeued as (
      select m.*, coalesce(g.wait, '0') as wait, g.reason,
             case when g.how = 'retry' then m.attempt + 1 else m.attempt end as next_attempt,
             {schema}.next_crashes(m.crashes, g.how) as next_crashes,
             g.how = 'bury' or (g.how = 'retry' and m.attempt > {schema}.max_retries_of(m.headers, $3)) as is_dead
        from {schema}.batch_messages($1) m
        join unnest($2) as g on g.message_id = m.message_id
    ),
    dead as (
      insert into {schema}.dead_letter (queue_id, consumer, message_id, attempt, lane, key, type, payload, headers, created_at, reason)
      select ${queue}, c.name, g.message_id, g.attempt, g.lane, g.key, g.type, g.payload, g.headers, g.created_at, {schema}.bounded_reason(g.reason)
        from requeued g
        join {schema}.consumer c on c.id = g.consumer_id
       where is_dead
      returning consumer, message_id, reason, headers
    ),
    known as (
      insert into {schema}.result
      select r.*
        from dead d
       cross join lateral {schema}.result_ttl(d.headers) as ttl
       cross join lateral {schema}.new_result($4, d.message_id, d.consumer, 'dead', null, d.reason, d.headers, ttl) r
       where ttl is not null
    ),
    soon as (
      insert into {schema}.${soon:I} (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, cancellable, type, payload, headers)
      select clock_timestamp() + wait, $4, message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, $6, type, payload, headers
        from requeued
       where not is_dead and wait > '0' and wait <= $5
    ),
    later as (
      insert into {schema}.${later:I} (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, cancellable, type, payload, headers)
      select clock_timestamp() + wait, $4, message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, $6, type, payload, headers
        from requeued
       where not is_dead and wait > $5
    )
    insert into {schema}.message_${queue}_${segment} (seq, id, created_at, consumer_id, attempt, crashes, lane, key, expires_at, type, payload, headers)
    select nextval('{schema}.message_seq_${queue}'), message_id, created_at, consumer_id, next_attempt, next_crashes, lane, key, expires_at, type, payload, headers
      from requeued
     where not is_dead and wait <= '0'
  $sql$, jsonb_build_object(
    'queue', of_queue,
    'segment', current_segment,
    'soon', delayed_table('soon'),
    'later', delayed_table('later')
  ))
    using batch_id, given, settings.max_retries, settings.uid, delayed_soon_span(), nullif(settings.allow_cancel, false);
  perform wake(of_queue);
end
$$;

-- Messages that all go the same way.
create function all_requeued(message_ids bigint[], how text, wait interval default null, reason text default null) returns requeued[]
language sql
immutable
set search_path from current
return array(select row(m, how, wait, reason)::requeued from (select distinct unnest(message_ids)) as one(m));

-- Those of a list that name one of these messages.
create function filter_requeued(given requeued[], message_ids bigint[]) returns requeued[]
language sql
immutable
set search_path from current
-- is true: a list that is hashed, where a join of two lists might compare each with each
return array(select g from unnest(given) as g where (g.message_id in (select unnest(message_ids))) is true);
