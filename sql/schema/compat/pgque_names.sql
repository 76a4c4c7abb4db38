-- PgQue's names for what this schema does, so that its clients work unchanged. Where it is safer than there: receive puts into the batch
-- only what it returns, and a message is visible as soon as its transaction has committed, without a tick.

-- PgQue stores an event without a type; a message has one.
create function insert_event(queue_name text, ev_type text, ev_data text) returns bigint
language sql
return send(queue_name, coalesce(ev_type, 'default'), ev_data, null);

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
return nack(batch_id, row(event_id, batch_id, null, null, null, null, null, null, null, null)::message, make_interval(secs => retry_seconds));

create function maint() returns int
language sql
return maintain();

-- Delivers what has become due.
create function maint_retry_events() returns int
language sql
security definer
set search_path from current
return deliver_due();

-- There are no ticks. What schedules them goes on working, and as there it notifies who listens for a queue that has something: PgQue's
-- clients raise no idle flag (send/wake.sql), so that senders do not know of them. maintain does it, too.
create function notify_listeners(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if (select q.notify from queue q where q.id = queue_id) and exists (
    select from consumer c
     where c.queue_id = notify_listeners.queue_id and not c.paused
       -- the look into the queue last, which is dear: the planner does not know
       and case
             when c.mode = 'exclusive' or exists (select from subconsumer s where s.consumer_id = c.id)
               then not segment_is_received(notify_listeners.queue_id, null, c.id)
           end
  ) then
    perform notify_workers(queue_id);
  end if;
end
$$;

-- The number of queues.
create function ticker() returns bigint
language plpgsql
security definer
set search_path from current
as $$
begin
  perform notify_listeners(q.id) from queue q;
  return cardinality(queue_names());
end
$$;

-- Where the queue stands: a number that grows with what is sent.
create function ticker(queue_name text) returns bigint
language plpgsql
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue_name);
begin
  perform notify_listeners(of_queue);
  return coalesce(pg_sequence_last_value(relation(format('message_seq_%s', of_queue))), 0);
end
$$;

create function force_next_tick(queue_name text) returns bigint
language sql
return ticker(queue_name);

create function force_tick(queue_name text) returns bigint
language sql
return ticker(queue_name);
