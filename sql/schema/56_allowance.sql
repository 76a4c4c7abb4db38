-- Limits of a consumer: how many of its messages may be in flight, in all its workers together, and how many it may receive in a period.
-- What was received before and is handed out again in its place, of an exclusive or ordered consumer, comes whatever the limits.
-- The rate is a token bucket: rate_limit messages at once, and as many again, evenly, in each rate_period. Its state is a time, kept in the
-- consumer's newest batch rows and so under the cursor's lock: every message moves it on by rate_period / rate_limit, and it may not pass now.

-- How many of max_messages a consumer may receive now. rate_from and rate_step: the bucket's state, and how far one message moves it.
create function receive_allowance(
  queue_id int, consumer_id int, max_messages int, out allowed int, out rate_from timestamptz, out rate_step interval
)
language plpgsql
volatile
set search_path from current
as $$
declare
  settings consumer;
  now constant timestamptz := clock_timestamp();
begin
  select c.* into settings from consumer c where c.id = receive_allowance.consumer_id;
  allowed := max_messages;
  if settings.rate_limit is not null then
    rate_step := settings.rate_period / settings.rate_limit;
    -- A state that lies ahead is from before a step of the clock back. It counts as used up to now but for one message, which writes the state
    -- anew.
    select case
             when bool_or(c.rate_until <= now + rate_step) then greatest(max(c.rate_until) filter (where c.rate_until <= now + rate_step), now - settings.rate_period)
             when bool_or(c.rate_until > now) then now - rate_step
             else now - settings.rate_period
           end
      into rate_from
      from cursors(queue_id, consumer_id) c;
    -- a setting that has changed may have left it later
    rate_from := least(rate_from, now);
    allowed := least(allowed, floor(extract(epoch from now - rate_from) / extract(epoch from rate_step) + 1e-6))::int;
  end if;
  if settings.max_in_flight is not null then
    allowed := least(allowed, settings.max_in_flight - in_flight(queue_id, consumer_id));
  end if;
  allowed := greatest(allowed, 0);
end
$$;

-- The consumers of a queue that have open batches: in how many, and how many messages are received and not settled. Those of an ordered
-- consumer whose batch waits, or may be handed out again, are in nobody's hands: counted, they would keep themselves from being handed out.
create function open_counts(queue_id int, of_consumer int default null) returns table (consumer_id int, in_flight bigint, open_batches int)
language sql
volatile
set search_path from current
begin atomic
  select c.id,
         coalesce(sum(s.messages - cardinality(s.settled)) filter (
           where case when c.mode = 'ordered' then b.waits_until is null and not can_be_taken_over(b.worker, b.lease_until, b.waits_until) else true end
         ), 0)::bigint,
         count(*)::int
    from open_batches(open_counts.queue_id, open_counts.of_consumer) b
    join consumer c on c.id = b.consumer_id
   cross join lateral batch_state(b.batch_id) s
   group by c.id;
end;

-- How many messages of a consumer are received and not settled.
create function in_flight(queue_id int, consumer_id int) returns bigint
language sql
volatile
set search_path from current
begin atomic
  select coalesce((select o.in_flight from open_counts(in_flight.queue_id, in_flight.consumer_id) o), 0);
end;
