-- Queues at rest. Maintenance comes by every second, and where nothing has happened there is nothing to do. That is known without looking
-- into the queue: two sequences count what is sent and what is received, and a third, idle_<queue>, says at which of their values
-- maintenance found nothing left to do, and until when that holds:
--   seconds since 1970 * 2^31 + what the two sequences came to
-- All that gives maintenance work moves one of the two: a message is inserted with the next of message_seq, a batch with that of batch_seq.

-- What the two sequences of a queue come to; null: there is no such queue.
create function activity_of(queue_id int) returns bigint
language plpgsql
volatile
set search_path from current
as $$
begin
  return (
    coalesce(pg_sequence_last_value(to_regclass(format(qualified('{schema}.message_seq_%s'), queue_id))), 0) * 31
    + coalesce(pg_sequence_last_value(to_regclass(format(qualified('{schema}.batch_seq_%s'), queue_id))), 0)
  ) & 2147483647;
end
$$;

-- Whether maintenance has to look into a queue.
create function needs_maintenance(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  rest constant bigint := pg_sequence_last_value(to_regclass(format(qualified('{schema}.idle_%s'), queue_id)));
begin
  return rest is null or rest & 2147483647 <> activity_of(queue_id) or rest >> 31 <= extract(epoch from clock_timestamp());
end
$$;

-- Until when a queue has nothing for maintenance to do, in seconds since 1970; null: it has, or it takes a look to know. ring and positions: as
-- maintenance has seen them.
create function idle_until(queue_id int, ring ring_segment[], positions consumer_position[]) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer constant bigint := pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id)));
  current_segment constant int := pointer_segment(pointer);
begin
  if exists (select from unnest(ring) as r where r.segment <> current_segment and not is_empty(r)) then
    return null;
  end if;
  -- as segment_is_full: the table of batches has rows that rotation writes
  if (select r.message_bytes + r.outcome_bytes = 0 from unnest(ring) as r where r.segment = current_segment) then
    return 4294967295;
  end if;
  if not segment_is_received(queue_id, current_segment, null, positions) or has_open_batches(queue_id, positions => positions) then
    return null;
  end if;
  return floor(extract(epoch from clock_timestamp() + (select q.rotation_period from queue q where q.id = idle_until.queue_id) - pointer_age(pointer)));
end
$$;

-- Remembers that a queue rests, if it does. activity: what the sequences came to before maintenance looked.
create function note_idle(queue_id int, activity bigint, ring ring_segment[], positions consumer_position[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  until constant bigint := idle_until(queue_id, ring, positions);
begin
  if until is not null then
    perform setval(relation(format('idle_%s', queue_id)), (least(until, 4294967295) << 31) | activity);
  end if;
end
$$;

-- Those of the queues that are named that maintenance has to look into: three sequences are read of each. One that is gone is among them, for
-- maintain_queue says so.
create function queues_to_maintain(queues text[]) returns text[]
language sql
volatile
security definer
set search_path from current
begin atomic
  select coalesce(array_agg(n.name order by n.name), '{}')
    from unnest(queues) as n(name)
    left join queue q on q.name = n.name
   where q.id is null or needs_maintenance(q.id);
end;
