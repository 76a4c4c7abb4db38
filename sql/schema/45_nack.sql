-- Giving messages back. They are written again for their consumer alone: at once into the message table, or into the delayed
-- store until they are due, or into dead_letter when their attempts are used up.

-- Writes messages of a batch again. The arrays run in parallel; a retry_after of null gives the message back at once without
-- using an attempt.
create function give_back(batch_id bigint, message_ids bigint[], retry_after interval[], reasons text[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := batch_queue(batch_id);
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
  settings queue;
begin
  perform require_home();
  select * into settings from queue q where q.id = of_queue;
  execute format($sql$
    with given_back as (
      select m.*, g.retry_after, g.reason, case when g.retry_after is null then m.attempt else m.attempt + 1 end as next_attempt
        from batch_messages($1) m
        join unnest($2, $3, $4) as g(id, retry_after, reason) on g.id = m.message_id
    ),
    dead as (
      insert into dead_letter (queue_id, consumer, message_id, attempt, lane, key, type, payload, headers, created_at, reason)
      select %1$s, c.name, g.message_id, g.attempt, g.lane, g.key, g.type, g.payload, g.headers, g.created_at, g.reason
        from given_back g
        join consumer c on c.id = g.consumer_id
       where g.next_attempt > $5 + 1
    ),
    near as (
      insert into %3$I (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select clock_timestamp() + retry_after, $6, message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, type, payload, headers
        from given_back
       where next_attempt <= $5 + 1 and retry_after > '0' and retry_after <= $7
    ),
    far as (
      insert into %4$I (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select clock_timestamp() + retry_after, $6, message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, type, payload, headers
        from given_back
       where next_attempt <= $5 + 1 and retry_after > $7
    )
    insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
    select nextval('message_seq_%1$s'), message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, type, payload, headers
      from given_back
     where next_attempt <= $5 + 1 and (retry_after is null or retry_after <= '0')
  $sql$, of_queue, current_segment, delayed_table('near'), delayed_table('far'))
    using batch_id, message_ids, retry_after, reasons, settings.max_retries, settings.uid, delayed_near_span();
  perform wake(of_queue);
end
$$;

create function check_retry_after(retry_after interval[]) returns void
language plpgsql
immutable
set search_path from current
as $$
declare
  wrong interval;
begin
  select r into wrong from unnest(retry_after) as r where r is null or not (r >= '0' and r <= '100 years') limit 1;
  if found then
    raise exception using
      errcode = 'PQ004',
      message = format('expected retry_after to be from 0 to 100 years, got: %s', coalesce(wrong::text, 'NULL')),
      hint = 'To give a message back at once without using an attempt, use release_ids of settle.';
  end if;
end
$$;

-- Gives some messages of a batch back, to be tried again after retry_after, or as dead letters when their attempts are used up.
-- Returns how many; those that were settled before are left alone. 0 with a warning: unknown, finished, or lease lost. A batch of an ordered
-- consumer that does not skip ends with it, and what is not settled of it waits in its place.
create function nack(
  batch_id bigint, message_ids bigint[], retry_after interval default '60 s', reason text default null, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  fresh bigint[];
  mode record;
  failed int;
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_retry_after(array[retry_after]);
  perform check_in_batch(batch_id, message_ids);
  mode := batch_mode(batch_id);
  if mode.mode = 'ordered' and mode.on_failure = 'block' then
    failed := hold(batch_id, message_ids, array_fill(retry_after, array[cardinality(message_ids)]), array_fill(reason, array[cardinality(message_ids)]), null);
    if failed is null then
      perform warn_not_settled(batch_id);
    end if;
    return coalesce(failed, 0);
  end if;
  fresh := settle_messages(batch_id, message_ids, false);
  if fresh is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  perform give_back(batch_id, fresh, array_fill(retry_after, array[cardinality(fresh)]), array_fill(reason, array[cardinality(fresh)]));
  return cardinality(fresh);
end
$$;

-- Gives one message back: PgQue's shape.
create function nack(batch_id bigint, msg message, retry_after interval default '60 s', reason text default null) returns int
language sql
return nack(batch_id, array[(msg).msg_id], retry_after, reason);

-- Finishes a batch in one call: retry_ids are tried again after their retry_after (in parallel with reasons), release_ids are
-- given back at once without using an attempt (in their place, if the consumer is exclusive or ordered), all others are acked. 1 done, 0 (with a warning) unknown, finished or lease lost.
create function settle(
  batch_id bigint,
  retry_ids bigint[] default '{}',
  retry_after interval[] default '{}',
  reasons text[] default '{}',
  release_ids bigint[] default '{}',
  caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  fresh bigint[];
  mode record;
begin
  perform require_receive(caller, batch_queue(batch_id));
  retry_ids := coalesce(retry_ids, '{}');
  retry_after := coalesce(retry_after, '{}');
  reasons := coalesce(reasons, '{}');
  release_ids := coalesce(release_ids, '{}');
  if cardinality(retry_ids) <> cardinality(retry_after) or cardinality(reasons) not in (0, cardinality(retry_ids)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many retry_after as retry_ids (%s) and as many reasons or none, got: %s and %s',
        cardinality(retry_ids), cardinality(retry_after), cardinality(reasons));
  end if;
  if retry_ids && release_ids then
    raise exception using errcode = 'PQ004', message = 'expected retry_ids and release_ids to have no message in common';
  end if;
  if cardinality(retry_ids) + cardinality(release_ids) = 0 then
    return ack(batch_id);
  end if;
  perform check_retry_after(retry_after);
  perform check_in_batch(batch_id, retry_ids || release_ids);
  mode := batch_mode(batch_id);
  if mode.mode = 'ordered' then
    if hold(batch_id, retry_ids, retry_after, reasons, release_ids) is null then
      perform warn_not_settled(batch_id);
      return 0;
    end if;
    return 1;
  elsif cardinality(release_ids) > 0 and mode.mode = 'exclusive' then
    -- what is released stays in its place, and so in the batch, for whoever receives next
    fresh := settle_messages(batch_id, array(select m.message_id from batch_messages(batch_id) m where m.message_id <> all (release_ids)), false);
    release_ids := '{}';
  else
    fresh := settle_messages(batch_id, retry_ids || release_ids, true);
  end if;
  if fresh is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  perform give_back(batch_id, array_agg(g.id), array_agg(g.retry_after), array_agg(g.reason))
     from (
       select distinct on (r.id) r.* from unnest(retry_ids, retry_after, reasons) as r(id, retry_after, reason)
       union all
       select distinct r.id, null::interval, null from unnest(release_ids) as r(id)
     ) g
    where g.id = any (fresh);
  return 1;
end
$$;
