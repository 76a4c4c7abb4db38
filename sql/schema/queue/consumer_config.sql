-- Settings of consumers: what they may be, changing them, reading them; and pausing consumers and queues.

-- The options of change_consumer; subscribe has more, which stay what they are.
create function consumer_option_kinds() returns option_kind[]
language sql
immutable
return array[
  row('on_failure', 'word', 'block,skip', null, false),
  row('max_in_flight', 'integer', '1', '2147483647', true),
  row('max_in_flight_per_key', 'integer', '1', '100', true),
  row('rate_limit', 'integer', '1', '2147483647', true),
  row('rate_period', 'span', null, '1 day', false)
]::option_kind[];

-- Refuses options that a consumer with these settings, new or as it is, cannot have. what: whose options, for the message; more: what else
-- they may be.
create function check_consumer(settings consumer, options jsonb, what text, more option_kind[]) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  known constant option_kind[] := more || consumer_option_kinds();
  problems text[];
  wrong text[];
  wanted consumer;
begin
  select coalesce(array_agg(p.name), '{}'), coalesce(array_agg(p.problem), '{}') into wrong, problems from option_problems(options, what, known) p;
  -- of what has a value that it may have
  options := options - wrong;
  wanted := configured_consumer(settings, options);
  if options ->> 'mode' <> settings.mode then
    problems := problems || format('mode of consumer %s cannot be changed', quote_literal(settings.name));
  end if;
  if options ? 'on_failure' and settings.mode <> 'ordered' then
    problems := problems || 'expected on_failure for a consumer with mode "ordered" alone'::text;
  end if;
  if wanted.max_in_flight_per_key is not null and (wanted.mode <> 'shared' or (select q.lane_by from queue q where q.id = settings.queue_id) is distinct from 'key') then
    problems := problems || 'expected max_in_flight_per_key for a consumer with mode "shared", of a queue with partitions, alone'::text;
  end if;
  if wanted.rate_limit > extract(epoch from wanted.rate_period) * 1000000 then
    problems := problems || format('expected rate_limit to be a message a microsecond at most, got: %s in %s', wanted.rate_limit, wanted.rate_period);
  end if;
  perform refuse_options(problems, known);
end
$$;

-- The settings of a consumer with options that were checked.
create function configured_consumer(settings consumer, options jsonb) returns consumer
language plpgsql
stable
set search_path from current
as $$
begin
  settings.on_failure := coalesce(options ->> 'on_failure', settings.on_failure);
  settings.max_in_flight := case when options ? 'max_in_flight' then (options ->> 'max_in_flight')::int else settings.max_in_flight end;
  settings.max_in_flight_per_key := case
    when options ? 'max_in_flight_per_key' then (options ->> 'max_in_flight_per_key')::int else settings.max_in_flight_per_key
  end;
  settings.rate_limit := case when options ? 'rate_limit' then (options ->> 'rate_limit')::int else settings.rate_limit end;
  settings.rate_period := coalesce((options ->> 'rate_period')::interval, settings.rate_period);
  return settings;
end
$$;

-- Changes the options of a consumer that are named: on_failure, max_in_flight, max_in_flight_per_key, rate_limit, rate_period; null for a limit: none.
-- 1 changed, 0 it was like that. Counts from the next receive on. mode may be named, but stays what it is. What is wrong is said all at
-- once, and then nothing has changed.
-- Errors: PQ001 no such queue, PQ002 no such consumer, PQ004 options that cannot be.
create function change_consumer(queue text, consumer text, options jsonb) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  old consumer;
  new consumer;
begin
  if options ?| '{max_in_flight,max_in_flight_per_key}' then
    perform lock_queue_functions(of_queue);
  end if;
  select c.* into old from consumer c where c.id = require_consumer(of_queue, change_consumer.consumer) for update;
  perform check_consumer(old, options, 'a consumer', array[row('mode', 'word', 'exclusive,shared,ordered', null, false)]::option_kind[]);
  new := configured_consumer(old, options);
  if new is not distinct from old then
    return 0;
  end if;
  update consumer c
     set on_failure = new.on_failure, max_in_flight = new.max_in_flight, max_in_flight_per_key = new.max_in_flight_per_key, rate_limit = new.rate_limit,
         rate_period = new.rate_period
   where c.id = old.id;
  if (new.max_in_flight, new.max_in_flight_per_key) is distinct from (old.max_in_flight, old.max_in_flight_per_key) then
    perform generate_ack(of_queue);
  end if;
  return 1;
end
$$;

-- Sets one option of a consumer: change_consumer in the shape of set_queue_config. Returns 1.
create function set_consumer_config(queue text, consumer text, param text, value text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform change_consumer(queue, consumer, jsonb_build_object(coalesce(param, 'NULL'), value));
  return 1;
end
$$;

-- The settings of the consumers of a queue, or of all: mode and every option of change_consumer, so that subscribe makes another like it and
-- change_consumer has nothing to change; on_failure of ordered ones alone, max_in_flight_per_key of those that may have one. Intervals in Postgres's words, "00:00:01". paused: the consumer itself
-- is. Errors: PQ001 no such queue.
create function consumer_settings(queue text default null) returns table (
  queue_name text, consumer text, settings jsonb, paused boolean, created_at timestamptz
)
language plpgsql
stable
security definer
set search_path from current
set intervalstyle = 'postgres'
as $$
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  return query
    select q.name, c.name,
           jsonb_build_object('mode', c.mode, 'max_in_flight', c.max_in_flight, 'rate_limit', c.rate_limit, 'rate_period', c.rate_period)
             || case when c.mode = 'ordered' then jsonb_build_object('on_failure', c.on_failure) else '{}' end
             || case when c.mode = 'shared' and q.lane_by = 'key' then jsonb_build_object('max_in_flight_per_key', c.max_in_flight_per_key) else '{}' end,
           c.paused, c.created_at
      from consumer c
      join queue q on q.id = c.queue_id
     where consumer_settings.queue is null or q.name = consumer_settings.queue
     order by q.name, c.name;
end
$$;

create function set_paused(queue text, consumer text, paused boolean) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  changed int;
begin
  if consumer is null then
    perform lock_queue_functions(of_queue);
    update queue q set paused = set_paused.paused where q.id = of_queue and q.paused <> set_paused.paused;
    get diagnostics changed = row_count;
    -- it is written into the function that receives, so that a queue that is not paused need not look
    if changed = 1 then
      perform generate_receive(of_queue);
    end if;
  else
    update consumer c set paused = set_paused.paused where c.id = require_consumer(of_queue, consumer) and c.paused <> set_paused.paused;
    get diagnostics changed = row_count;
  end if;
  if changed = 1 and not paused then
    perform wake(of_queue);
  end if;
  return changed;
end
$$;

-- Pauses a consumer, or without one the queue: until it is resumed, receives return nothing. What is in hand can be settled, sends go on, and
-- so does maintenance. 1 paused, 0 it was already.
create function pause(queue text, consumer text default null) returns int
language sql
volatile
security definer
set search_path from current
return set_paused(queue, consumer, true);

create function resume(queue text, consumer text default null) returns int
language sql
volatile
security definer
set search_path from current
return set_paused(queue, consumer, false);
