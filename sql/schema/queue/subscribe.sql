-- Registers a consumer: 1 new, 0 exists. The first consumer of a queue starts at the earliest message kept, later ones from now on,
-- unless options say "from": see start_position. "mode" is exclusive (the default, PgQ's stream reader: see receive/exclusive.sql),
-- shared, or ordered, on a queue with partitions; "on_failure" of an ordered one is block (the default) or skip: see receive/ordered.sql.
-- "max_in_flight", "max_in_flight_per_key", "rate_limit" and "rate_period" limit what is received: see receive/limits.sql.
create function subscribe(queue text, consumer text, options jsonb default '{}', caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  settings constant consumer := new_consumer(of_queue, consumer, options);
  start_from text := start_position(options ->> 'from');
  existing_mode text;
begin
  perform require_same_cluster();
  perform require_read_committed('subscribe');
  perform check_name('consumer', consumer);
  if coalesce(settings.max_in_flight, settings.max_in_flight_per_key) is not null or settings.mode <> 'shared' then
    -- first, as for whoever configures the queue
    perform lock_queue_functions(of_queue);
  end if;
  perform pg_advisory_xact_lock(lock_key('subscribe', of_queue));
  select c.mode into existing_mode from consumer c where c.queue_id = of_queue and c.name = subscribe.consumer;
  if existing_mode <> options ->> 'mode' then
    raise exception using
      errcode = 'PQ004',
      message = format('consumer %s is %s, not %s', quote_literal(consumer), existing_mode, options ->> 'mode'),
      hint = 'Unsubscribe it first, or take another name.';
  end if;
  if existing_mode is not null then
    return 0;
  end if;
  if start_from is null and not exists (select from consumer c where c.queue_id = of_queue) then
    start_from := 'earliest';
  end if;
  delete from dropped_consumer d where d.queue_id = of_queue and d.name = consumer;
  if options ->> 'mode' = 'ordered' and (select q.lane_by from queue q where q.id = of_queue) is distinct from 'key' then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has no keys to order by', quote_literal(queue)),
      hint = 'Create it with partitions = 16.';
  end if;
  perform add_consumer(settings, coalesce(start_from, 'latest'));
  if coalesce(settings.max_in_flight, settings.max_in_flight_per_key) is not null or settings.mode <> 'shared' then
    perform generate_ack(of_queue);
  end if;
  return 1;
end
$$;

-- Places a consumer anew: at earliest, latest or a time, see start_position. What it has not received, its open batches and its retries
-- are left behind; what lies after the new position comes, or comes again.
create function seek(queue text, consumer text, "position" text, caller caller default current_user) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  start_from constant text := start_position("position");
  old consumer;
begin
  perform require_same_cluster();
  perform require_read_committed('seek');
  perform pg_advisory_xact_lock(lock_key('subscribe', of_queue));
  select * into old from consumer c where c.id = require_consumer(of_queue, consumer);
  if start_from is null then
    raise exception using errcode = 'PQ004', message = 'expected a position, got: NULL', hint = 'earliest, latest or a time.';
  end if;
  -- under a new number: what was written for the old one alone is nobody's now
  delete from consumer c where c.id = old.id;
  perform add_consumer(old, start_from);
end
$$;

-- The settings of a consumer that is to be subscribed, from options that are checked here, "from" aside.
create function new_consumer(queue_id int, name text, options jsonb) returns consumer
language plpgsql
stable
set search_path from current
as $$
declare
  settings consumer;
begin
  settings.queue_id := queue_id;
  settings.name := name;
  settings.mode := coalesce(options ->> 'mode', 'exclusive');
  settings.on_failure := 'block';
  settings.rate_period := '1 s';
  settings.paused := false;
  perform check_consumer(settings, options, 'subscribe', array[
    row('from', 'text', null, null, true), row('mode', 'word', 'exclusive,shared,ordered', null, true)
  ]::option_kind[]);
  return configured_consumer(settings, options);
end
$$;

-- Adds a consumer and the first rows of its cursors.
create function add_consumer(settings consumer, start_from text) returns void
language plpgsql
volatile
set search_path from current
as $$
#variable_conflict use_column
declare
  new_id int;
  nothing constant pg_snapshot := '1:1:';
  seen pg_snapshot;
begin
  -- no segment is truncated until this consumer can be seen by others
  execute format(qualified('lock table {schema}.message_%1$s, {schema}.batch_%1$s in access share mode'), settings.queue_id);
  seen := case when start_from = 'earliest' then nothing else snapshot_now() end;
  insert into consumer (queue_id, name, mode, on_failure, max_in_flight, max_in_flight_per_key, rate_limit, rate_period, paused)
  values (settings.queue_id, settings.name, settings.mode, settings.on_failure, settings.max_in_flight, settings.max_in_flight_per_key, settings.rate_limit,
          settings.rate_period, settings.paused)
  returning id into new_id;
  -- from a time: each lane from the first message that was sent since
  execute format(qualified($sql$
    insert into {schema}.batch_%1$s (segment, consumer_id, lane, batch_no, window_batch_no, prev_snapshot, next_snapshot, last_txid, last_seq, messages, exhausted)
    select {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_%1$s')), $1, l.lane, 1, 1,
           case when f.txid is null then $3 else $2 end, $3, coalesce(f.txid, '0'), coalesce(f.seq - 1, -1), 0, f.txid is null
      from generate_series(0, (select q.lanes from {schema}.queue q where q.id = %1$s) - 1) as l(lane)
      left join lateral (
        select m.txid, m.seq
          from {schema}.message_%1$s m
         where m.lane = l.lane and m.consumer_id is null and m.created_at >= $4
         order by m.lane, m.txid, m.seq
         limit 1
      ) f on true
  $sql$), settings.queue_id) using new_id, nothing, seen,
    case when start_from in ('earliest', 'latest') then null else start_from::timestamptz end;
end
$$;

-- Where a consumer is placed: earliest, latest, or at the first message kept, in the order of the log, that was sent at or after a time.
-- Returned as it was given; null stays null.
create function start_position("position" text) returns text
language plpgsql
stable
set search_path from current
as $$
begin
  if "position" not in ('earliest', 'latest') then
    perform "position"::timestamptz;
  end if;
  return "position";
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected from to be "earliest", "latest" or a time such as "2030-01-31T12:00:00Z", got: %L', "position");
end
$$;

-- Removes a consumer: 1 removed, 0 there was none. What it has not received stays for the others.
create function unsubscribe(queue text, consumer text, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  removed int;
begin
  delete from consumer c where c.queue_id = of_queue and c.name = unsubscribe.consumer;
  get diagnostics removed = row_count;
  return removed;
end
$$;
