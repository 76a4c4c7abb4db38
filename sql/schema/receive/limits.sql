-- Limits of a consumer: how many of its messages may be in flight, in all its workers together, and how many it may receive in a period.
-- What was received before and is handed out again in its place, of an exclusive or ordered consumer, comes whatever the limits.
-- The rate is a token bucket: rate_limit messages at once, and as many again, evenly, in each rate_period. Its state is a time, kept in the
-- consumer's newest batch rows and so under the cursor's lock: every message moves it on by rate_period / rate_limit, and it may not pass now.

-- How many of max_messages a consumer may receive now. rate_from and rate_step: the bucket's state, and how far one message moves it.
create function receive_limits(
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
  select c.* into settings from consumer c where c.id = receive_limits.consumer_id;
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

-- How many messages of a consumer are received and not settled. Those of an ordered consumer whose batch waits, or may be handed out again, are
-- in nobody's hands: counted, they would keep themselves from being handed out.
create function in_flight(queue_id int, consumer_id int) returns bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  messages bigint;
begin
  execute format(qualified($sql$
    select coalesce(sum(b.messages - o.settled), 0)
      from {schema}.open_batches(%1$s, $1) b
      join {schema}.consumer c on c.id = b.consumer_id
     cross join lateral (
       select coalesce(sum(cardinality(o.message_ids)), 0) as settled from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.batch_id
     ) o
     where c.mode <> 'ordered' or b.waits_until is null and not {schema}.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
  $sql$), queue_id) into messages using consumer_id;
  return messages;
end
$$;
