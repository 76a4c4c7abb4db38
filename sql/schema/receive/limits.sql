-- Limits of a consumer: how many of its messages may be in flight, in all its workers together, all of them or those of one key; and how many it may
-- receive in a period.
-- What was received before and is handed out again in its place, of an exclusive or ordered consumer, comes whatever the limits.
-- The rate is a token bucket: rate_limit messages at once, and as many again, evenly, in each rate_period. Its state is a time, kept in the
-- consumer's newest batch rows and so under the cursor's lock: every message moves it on by rate_period / rate_limit, and it may not pass now.

-- How many of max_messages a consumer may receive now, and how many of one key may be in flight. rate_from and rate_step: the bucket's state, and how far
-- one message moves it.
create function receive_limits(
  queue_id int, consumer_id int, max_messages int, out allowed int, out per_key int, out rate_from timestamptz, out rate_step interval
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
  per_key := settings.max_in_flight_per_key;
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

-- Part of a statement: the open batches of a lane, each with how many of its messages are not settled. newest: the row that is the lane's newest.
create function open_in_lane(queue_id int, lane text, newest text) returns text
language sql
stable
set search_path from current
return render($sql$
(
  select * from {schema}.batch_${queue} o where o.consumer_id = of_consumer and o.lane = ${lane} and o.batch_no = any (${newest}.still_open)
  union all
  select * from {schema}.batch_${queue} o where o.consumer_id = of_consumer and o.lane = ${lane} and o.batch_no >= ${newest}.settled_before
) i
cross join lateral (
  select i.messages - coalesce(sum(cardinality(o.message_ids)), 0) as unsettled, coalesce(bool_or(o.final), false) or i.id is null as finished
    from {schema}.outcome_${queue} o where o.segment = i.segment and o.batch_id = i.id
) o
where not o.finished$sql$, jsonb_build_object('queue', queue_id, 'lane', lane, 'newest', newest));

-- Fragment: the condition that a lane is not at the limit for each key. All lanes in one statement: a statement for each would cost ten times as much.
-- Reads: of_consumer, per_key.
create function within_limit(queue_id int) returns text
language sql
stable
set search_path from current
return format($sql$and (
  per_key is null
  or per_key > (
    select coalesce(sum(o.unsettled), 0)
      from %s
  )
)$sql$, indent(open_in_lane(queue_id, 'b.lane', 'b'), 6));

-- Fragment: the statements that keep to a limit for each key in a lane. A key is in one lane, so what is in flight of a lane is no less than what is of the
-- key; and a receive holds the cursor's lock, so no other counts at the same time.
-- Reads: per_key, limits, of_consumer, from_lane. Writes: open_before, the numbers of the lane's open batches; max_messages.
create function limit_by_key(queue_id int) returns text
language sql
stable
set search_path from current
return render($sql$
if per_key is not null then
  select coalesce(array_agg(i.batch_no order by i.batch_no), '{}'), greatest(least(limits.allowed, per_key - coalesce(sum(o.unsettled), 0)), 0)
    into open_before, max_messages
    from (select * from {schema}.batch_${queue} n where n.consumer_id = of_consumer and n.lane = from_lane order by n.batch_no desc limit 1) n
   cross join lateral ${open_in_lane};
end if;$sql$, jsonb_build_object('queue', queue_id, 'open_in_lane', indent(open_in_lane(queue_id, 'from_lane', 'n'), 3)));

-- Part of a template: the statements that note, in the next batch row, which batches of a lane with a limit for each key are open. They are a hundred at
-- most, so the next receive looks at no others.
create function keep_open_before() returns text
language sql
immutable
return $sql$if open_before is not null then
  position.settled_before := position.batch_no + 1;
  position.still_open := nullif(open_before, '{}');
end if;$sql$;
