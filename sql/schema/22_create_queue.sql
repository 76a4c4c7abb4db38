-- Creating, configuring and dropping queues: the only work that changes the registry, done by people.

-- The functions of one queue that are generated, with all segments of its ring.
create function generate_functions(queue_id int) returns void
language plpgsql
set search_path from current
as $$
begin
  perform generate_lane_of(queue_id);
  perform generate_send(queue_id);
  perform generate_send_batch(queue_id);
  perform generate_receive(queue_id);
  perform generate_ack(queue_id);
end
$$;

-- Options of a queue, checked: an unknown name or a bad value is an error that says what is allowed.
create function queue_options(options jsonb) returns jsonb
language plpgsql
immutable
set search_path from current
as $$
declare
  known constant text[] := '{max_retries,rotation_bytes,rotation_period,rotation_min_interval,retention,max_lag,max_lag_action,payload_bytes_max,wake,lane_by,lanes,lowest_first_every,expiry}';
  unknown text;
begin
  if jsonb_typeof(options) is distinct from 'object' then
    raise exception using errcode = 'PQ004', message = format('expected the options of a queue to be a JSON object, got: %s', coalesce(left(options::text, 100), 'NULL'));
  end if;
  select string_agg(quote_literal(key), ', ') into unknown from jsonb_object_keys(options) as key where key <> all (known);
  if unknown is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('unknown option of a queue: %s', unknown),
      hint = format('Known options: %s.', array_to_string(known, ', '));
  end if;
  return jsonb_strip_nulls(options);
end
$$;

-- Sets the options of a queue that are named.
create function configure_queue(queue_id int, options jsonb) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  update queue q
     set max_retries = coalesce((options ->> 'max_retries')::int, q.max_retries),
         rotation_bytes = coalesce((options ->> 'rotation_bytes')::bigint, q.rotation_bytes),
         rotation_period = coalesce((options ->> 'rotation_period')::interval, q.rotation_period),
         rotation_min_interval = coalesce((options ->> 'rotation_min_interval')::interval, q.rotation_min_interval),
         retention = coalesce((options ->> 'retention')::interval, q.retention),
         max_lag = case when options ? 'max_lag' then (options ->> 'max_lag')::interval else q.max_lag end,
         max_lag_action = coalesce(options ->> 'max_lag_action', q.max_lag_action),
         payload_bytes_max = coalesce((options ->> 'payload_bytes_max')::int, q.payload_bytes_max),
         wake = coalesce((options ->> 'wake')::boolean, q.wake),
         lane_by = coalesce(options ->> 'lane_by', q.lane_by),
         lanes = coalesce((options ->> 'lanes')::int, q.lanes),
         lowest_first_every = case when options ? 'lowest_first_every' then (options ->> 'lowest_first_every')::int else q.lowest_first_every end,
         expiry = coalesce((options ->> 'expiry')::boolean, q.expiry)
   where q.id = queue_id;
exception
  when data_exception or check_violation then
    raise exception using
      errcode = 'PQ004',
      message = format('option of a queue out of range: %s', sqlerrm),
      hint = 'max_retries 0 to 32000, rotation_bytes >= 8192, rotation_period > 0, rotation_min_interval >= 0, retention 0 to 10 years, max_lag > 0, max_lag_action warn or drop, payload_bytes_max 1 to 1000000000, wake true or false, lane_by priority or key, lanes 1 to 1024, lowest_first_every 2 or more, expiry true or false.';
end
$$;

-- Sets one option of a queue that exists. An unknown option or a bad value is an error that says what is allowed. NULL is for max_lag and lowest_first_every: none.
-- The options of PgQue's ticker are accepted and do nothing: there are no ticks.
create function set_queue_config(queue text, param text, value text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  if param in ('ticker_max_count', 'ticker_max_lag', 'ticker_idle_period', 'ticker_paused') then
    return 1;
  end if;
  perform queue_options(jsonb_build_object(param, value));
  if value is null and param not in ('max_lag', 'lowest_first_every') then
    raise exception using errcode = 'PQ004', message = format('expected a value for %s, got: NULL', param);
  end if;
  perform lock_queue_functions(of_queue);
  if param = 'expiry' and value::boolean is false and (select q.expiry from queue q where q.id = of_queue) then
    raise exception using
      errcode = 'PQ004',
      message = format('expiry of queue %s cannot be switched off', quote_literal(queue)),
      hint = 'What was sent with an end of its life keeps it. Send without one.';
  end if;
  if param in ('lane_by', 'lanes') then
    perform add_lanes(of_queue, jsonb_build_object(param, value));
  else
    perform configure_queue(of_queue, jsonb_build_object(param, value));
  end if;
  -- payload_bytes_max, wake, lanes and expiry are written into them
  perform generate_functions(of_queue);
  return 1;
end
$$;

-- Creates a queue. 1 created, 0 there was one of that name (its options are left alone): to learn that, nobody needs to be an administrator.
create function create_queue(queue text, options jsonb default '{}', caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  checked constant jsonb := queue_options(options);
  new_id int;
begin
  perform check_name('queue', queue);
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  if exists (select from queue q where q.name = create_queue.queue) then
    return 0;
  end if;
  perform require_admin(caller);
  select free into new_id from generate_series(1, 16383) as free where not exists (select from queue q where q.id = free) limit 1;
  if new_id is null then
    raise exception using errcode = 'PQ004', message = 'expected at most 16383 queues in one schema', hint = 'Drop one, or install another schema.';
  end if;
  insert into queue (id, name) values (new_id, create_queue.queue);
  perform configure_queue(new_id, lane_options(checked));
  perform create_segment_parents(new_id);
  for segment in 0 .. 2 loop
    perform create_segment(new_id, segment);
  end loop;
  perform generate_functions(new_id);
  perform generate_dispatchers();
  perform grant_to_roles(new_id);
  return 1;
end
$$;

-- Drops a queue and everything in it. 1 dropped, 0 there was none. Fails while consumers are subscribed, unless forced.
create function drop_queue(queue text, force boolean default false) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  old_id int;
  consumers text;
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  select q.id into old_id from queue q where q.name = drop_queue.queue;
  if old_id is null then
    return 0;
  end if;
  select string_agg(c.name, ', ' order by c.name) into consumers from consumer c where c.queue_id = old_id;
  if consumers is not null and not force then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has consumers: %s', quote_literal(queue), consumers),
      hint = 'Unsubscribe them first, or force the drop: what they have not received is lost.';
  end if;
  perform pg_advisory_xact_lock(lock_key('maintain', old_id)), pg_advisory_xact_lock(lock_key('delayed', 0));
  delete from queue q where q.id = old_id;
  perform generate_dispatchers();
  execute format('drop table message_%1$s, batch_%1$s, outcome_%1$s cascade', old_id);
  execute format('drop function send_%1$s, send_batch_%1$s, receive_%1$s, ack_%1$s', old_id);
  execute format('drop function if exists lane_of_%s', old_id);
  return 1;
end
$$;
