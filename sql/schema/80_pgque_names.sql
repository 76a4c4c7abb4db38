-- PgQue's names for what this schema does, so that its clients work unchanged. Where it is safer than there: receive puts into the batch
-- only what it returns, and a message is visible as soon as its transaction has committed, without a tick.

create function insert_event(queue_name text, ev_type text, ev_data text) returns bigint
language sql
return send(queue_name, ev_type, ev_data, null);

create function register_consumer(queue_name text, consumer_name text) returns int
language sql
return subscribe(queue_name, consumer_name);

create function unregister_consumer(queue_name text, consumer_name text) returns int
language sql
return unsubscribe(queue_name, consumer_name);

create function finish_batch(batch_id bigint) returns int
language sql
return ack(batch_id);

create function event_retry(batch_id bigint, event_id bigint, retry_seconds int) returns int
language sql
return nack(batch_id, array[event_id], make_interval(secs => retry_seconds));

create function maint() returns int
language sql
return maintain();

-- Delivers what has become due.
create function maint_retry_events() returns int
language sql
security definer
set search_path from current
return maintain_delayed();

-- There are no ticks. What schedules them goes on working: the number of queues, …
create function ticker() returns bigint
language sql
return cardinality(queue_names())::bigint;

-- … no tick made, …
create function ticker(queue_name text) returns bigint
language plpgsql
security definer
set search_path from current
as $$
begin
  perform require_queue(queue_name);
  return null;
end
$$;

-- … and where the queue stands: a number that grows with what is sent.
create function force_next_tick(queue_name text) returns bigint
language sql
security definer
set search_path from current
return coalesce(pg_sequence_last_value(format('message_seq_%s', require_queue(queue_name))::regclass), 0);

create function force_tick(queue_name text) returns bigint
language sql
return force_next_tick(queue_name);
