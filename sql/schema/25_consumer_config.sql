-- Settings of consumers, and pausing them.

-- Options of a consumer, checked, as a row of consumer would have them. Those that are not named are as in the row given.
create function consumer_settings(settings consumer, options jsonb) returns consumer
language plpgsql
immutable
set search_path from current
as $$
begin
  if options ? 'on_failure' then
    settings.on_failure := options ->> 'on_failure';
  end if;
  if options ? 'max_in_flight' then
    settings.max_in_flight := (options ->> 'max_in_flight')::int;
  end if;
  if options ? 'rate_limit' then
    settings.rate_limit := (options ->> 'rate_limit')::int;
  end if;
  settings.rate_period := coalesce(option_interval(options, 'rate_period', '1 day'), settings.rate_period);
  if (settings.on_failure in ('block', 'skip')) is not true or settings.max_in_flight < 1 or settings.rate_limit < 1
     or settings.rate_limit > extract(epoch from settings.rate_period) * 1000000 then
    raise exception numeric_value_out_of_range;
  end if;
  return settings;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('option of a consumer out of range: %s', options),
      hint = 'on_failure block or skip, max_in_flight and rate_limit 1 or more or null for none, rate_period a number of seconds or an interval up to a day, and no more than a message a microsecond.';
end
$$;

-- Sets one option of a consumer that exists: on_failure, max_in_flight, rate_limit or rate_period; NULL for max_in_flight and rate_limit:
-- none. Counts from the next receive on.
create function set_consumer_config(queue text, consumer text, param text, value text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  reader constant int := require_consumer(require_queue(queue), consumer);
  known constant text[] := '{on_failure,max_in_flight,rate_limit,rate_period}';
  settings consumer;
begin
  if param <> all (known) or param is null or (value is null and param not in ('max_in_flight', 'rate_limit')) then
    raise exception using
      errcode = 'PQ004',
      message = format('unknown option of a consumer, or no value for it: %L, %L', param, value),
      hint = format('Known options: %s.', array_to_string(known, ', '));
  end if;
  if param = 'max_in_flight' then
    perform lock_queue_functions(require_queue(queue));
  end if;
  select c.* into settings from consumer c where c.id = reader for update;
  settings := consumer_settings(settings, jsonb_build_object(param, value));
  update consumer c
     set on_failure = settings.on_failure, max_in_flight = settings.max_in_flight, rate_limit = settings.rate_limit, rate_period = settings.rate_period
   where c.id = reader;
  if param = 'max_in_flight' then
    perform generate_ack(settings.queue_id);
  end if;
  return 1;
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
