-- Settings of queues: what they may be, changing them, reading them.

-- The options of create_queue and change_queue.
create function queue_option_kinds() returns option_kind[]
language sql
immutable
return array[
  row('max_retries', 'integer', '0', '32000', false),
  row('max_crashes', 'integer', '1', '1000', false),
  row('rotation_bytes', 'integer', '8192', '9223372036854775807', false),
  row('rotation_period', 'span', null, '100 years', false),
  row('rotation_min_interval', 'interval', '0', '100 years', false),
  row('retention', 'interval', '0', '10 years', false),
  row('max_lag', 'span', null, '100 years', true),
  row('max_lag_action', 'word', 'warn,drop', null, false),
  row('payload_bytes_max', 'integer', '1', '1000000000', false),
  row('notify', 'boolean', null, null, false),
  row('partitions', 'integer', '1', '1024', true),
  row('priorities', 'integer', '1', '1024', true),
  row('low_priority_every', 'integer', '2', '2147483647', true),
  row('allow_expiry', 'boolean', null, null, false),
  row('allow_cancel', 'boolean', null, null, false)
]::option_kind[];

-- Refuses options that a queue cannot be created with.
create function check_new_queue(options jsonb) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  problems text[];
begin
  -- null is the default
  options := jsonb_strip_nulls(options);
  problems := array(select p.problem from option_problems(options, 'a queue', queue_option_kinds()) p);
  if options ?& '{partitions,priorities}' then
    problems := problems || 'expected partitions or priorities, got both'::text;
  end if;
  if options ? 'low_priority_every' and not options ? 'priorities' then
    problems := problems || 'expected low_priority_every together with priorities'::text;
  end if;
  perform refuse_options(problems, queue_option_kinds());
end
$$;

-- Refuses options that a queue cannot be changed to.
create function check_changed_queue(settings queue, options jsonb) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  problems text[];
  wrong text[];
begin
  select coalesce(array_agg(p.name), '{}'), coalesce(array_agg(p.problem), '{}')
    into wrong, problems
    from option_problems(options, 'a queue', queue_option_kinds()) p;
  -- of what has a value that it may have, …
  options := options - wrong;
  problems := problems || array(
    select case
             when settings.lane_by is distinct from k.lane_by then format('queue %s was created without %s', quote_literal(settings.name), k.option)
             else format('expected %s of queue %s to be %s or more, got: %s', k.option, quote_literal(settings.name), settings.lanes, coalesce(k.lanes::text, 'none'))
           end
      from (values ('partitions', 'key', (options ->> 'partitions')::int), ('priorities', 'priority', (options ->> 'priorities')::int)) as k(option, lane_by, lanes)
     where options ? k.option
       and case when settings.lane_by is distinct from k.lane_by then k.lanes is not null else k.lanes is null or k.lanes < settings.lanes end
     order by k.option
  );
  if options ->> 'low_priority_every' is not null and settings.lane_by is distinct from 'priority' then
    problems := problems || format('queue %s has no priorities, for low_priority_every', quote_literal(settings.name));
  end if;
  -- … a message sent with an end of its life keeps it
  if settings.allow_expiry and (options ->> 'allow_expiry')::boolean is false then
    problems := problems || format('allow_expiry of queue %s cannot be switched off', quote_literal(settings.name));
  end if;
  -- … its tables have an index of messages by id from the beginning, or none
  if (options ->> 'allow_cancel')::boolean is distinct from settings.allow_cancel and options ->> 'allow_cancel' is not null then
    problems := problems || format('queue %s was created %s allow_cancel', quote_literal(settings.name), case when settings.allow_cancel then 'with' else 'without' end);
  end if;
  perform refuse_options(problems, queue_option_kinds());
end
$$;

-- The settings of a queue with options that were checked.
create function configured_queue(settings queue, options jsonb) returns queue
language plpgsql
stable
set search_path from current
as $$
begin
  settings.max_retries := coalesce((options ->> 'max_retries')::int, settings.max_retries);
  settings.max_crashes := coalesce((options ->> 'max_crashes')::int, settings.max_crashes);
  settings.rotation_bytes := coalesce((options ->> 'rotation_bytes')::bigint, settings.rotation_bytes);
  settings.rotation_period := coalesce((options ->> 'rotation_period')::interval, settings.rotation_period);
  settings.rotation_min_interval := coalesce((options ->> 'rotation_min_interval')::interval, settings.rotation_min_interval);
  settings.retention := coalesce((options ->> 'retention')::interval, settings.retention);
  settings.max_lag := case when options ? 'max_lag' then (options ->> 'max_lag')::interval else settings.max_lag end;
  settings.max_lag_action := coalesce(options ->> 'max_lag_action', settings.max_lag_action);
  settings.payload_bytes_max := coalesce((options ->> 'payload_bytes_max')::int, settings.payload_bytes_max);
  settings.notify := coalesce((options ->> 'notify')::boolean, settings.notify);
  settings.lane_by := case when options ->> 'partitions' is not null then 'key' when options ->> 'priorities' is not null then 'priority' else settings.lane_by end;
  settings.lanes := coalesce((options ->> 'partitions')::int, (options ->> 'priorities')::int, settings.lanes);
  settings.low_priority_every := case when options ? 'low_priority_every' then (options ->> 'low_priority_every')::int else settings.low_priority_every end;
  settings.allow_expiry := coalesce((options ->> 'allow_expiry')::boolean, settings.allow_expiry);
  settings.allow_cancel := coalesce((options ->> 'allow_cancel')::boolean, settings.allow_cancel);
  return settings;
end
$$;

create function store_queue(settings queue) returns void
language sql
volatile
set search_path from current
begin atomic
  update queue q
     set max_retries = settings.max_retries, max_crashes = settings.max_crashes, rotation_bytes = settings.rotation_bytes, rotation_period = settings.rotation_period,
         rotation_min_interval = settings.rotation_min_interval, retention = settings.retention, max_lag = settings.max_lag,
         max_lag_action = settings.max_lag_action, payload_bytes_max = settings.payload_bytes_max, notify = settings.notify,
         lane_by = settings.lane_by, lanes = settings.lanes, low_priority_every = settings.low_priority_every, allow_expiry = settings.allow_expiry, allow_cancel = settings.allow_cancel
   where q.id = settings.id;
end;

-- Changes the options of a queue that are named, to what create_queue takes; null for max_lag and low_priority_every: none. 1 changed, 0 it was
-- like that. partitions and priorities are only added to those there are, partitions when the queue is drained; allow_expiry is not switched off again, allow_cancel not changed. What is wrong
-- is said all at once, and then nothing has changed.
-- Errors: PQ001 no such queue, PQ004 options that cannot be, or a queue that is in use while lanes are added, PQ005 (to add lanes) not READ COMMITTED.
create function change_queue(queue text, options jsonb) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  old queue;
  new queue;
begin
  perform lock_queue_functions(of_queue);
  select q.* into old from queue q where q.id = require_queue(change_queue.queue);
  perform check_changed_queue(old, options);
  new := configured_queue(old, options);
  if new is not distinct from old then
    return 0;
  end if;
  if new.lanes > old.lanes then
    perform add_lanes(old, new.lanes);
  end if;
  perform store_queue(new);
  -- payload_bytes_max, wake, lanes, low_priority_every and expiry are written into them
  perform generate_functions(old.id);
  return 1;
end
$$;

-- Sets one option of a queue that exists: change_queue in PgQue's shape. The options of PgQue's ticker are accepted and do nothing: there are
-- no ticks. Returns 1.
create function set_queue_config(queue text, param text, value text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if param in ('ticker_max_count', 'ticker_max_lag', 'ticker_idle_period', 'ticker_paused') then
    perform require_queue(queue);
  else
    perform change_queue(queue, jsonb_build_object(coalesce(param, 'NULL'), value));
  end if;
  return 1;
end
$$;

-- The settings of a queue, or of all: every option of create_queue, so that create_queue makes another like it and change_queue has nothing to
-- change. Intervals in Postgres's words, "00:10:00". paused: see pause. Errors: PQ001 no such queue.
create function queue_settings(queue text default null) returns table (queue_name text, settings jsonb, paused boolean, created_at timestamptz)
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
    select q.name,
           jsonb_build_object(
             'max_retries', q.max_retries, 'max_crashes', q.max_crashes, 'rotation_bytes', q.rotation_bytes, 'rotation_period', q.rotation_period,
             'rotation_min_interval', q.rotation_min_interval, 'retention', q.retention, 'max_lag', q.max_lag, 'max_lag_action', q.max_lag_action,
             'payload_bytes_max', q.payload_bytes_max, 'notify', q.notify,
             'partitions', case when q.lane_by = 'key' then q.lanes end, 'priorities', case when q.lane_by = 'priority' then q.lanes end, 'low_priority_every', q.low_priority_every,
             'allow_expiry', q.allow_expiry, 'allow_cancel', q.allow_cancel
           ),
           q.paused, q.created_at
      from queue q
     where queue_settings.queue is null or q.name = queue_settings.queue
     order by q.name;
end
$$;
