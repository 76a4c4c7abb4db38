-- Registers a consumer: 1 new, 0 exists. The first consumer of a queue starts at the earliest message kept, later ones from now on,
-- unless options say "from": see start_position. "mode" is exclusive (the default, PgQ's stream reader: see 48_exclusive.sql) or shared.
create function subscribe(queue text, consumer text, options jsonb default '{}') returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
  start_from text;
  existing_mode text;
begin
  perform check_subscribe(options);
  start_from := start_position(options ->> 'from');
  perform require_read_committed('subscribe');
  perform check_name('consumer', consumer);
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
  perform add_consumer(of_queue, consumer, coalesce(options ->> 'mode', 'exclusive'), coalesce(start_from, 'latest'));
  return 1;
end
$$;

-- Places a consumer anew: at earliest, latest or a time, see start_position. What it has not received, its open batches and its retries
-- are left behind; what lies after the new position comes, or comes again.
create function seek(queue text, consumer text, "position" text) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
  start_from constant text := start_position("position");
  old record;
begin
  perform require_read_committed('seek');
  perform pg_advisory_xact_lock(lock_key('subscribe', of_queue));
  select * into old from consumer c where c.id = require_consumer(of_queue, consumer);
  if start_from is null then
    raise exception using errcode = 'PQ004', message = 'expected a position, got: NULL', hint = 'earliest, latest or a time.';
  end if;
  -- under a new number: what was written for the old one alone is nobody's now
  delete from consumer c where c.id = old.id;
  perform add_consumer(of_queue, old.name, old.mode, start_from);
end
$$;

-- Adds a consumer and the first row of its cursor.
create function add_consumer(queue_id int, consumer text, mode text, start_from text) returns void
language plpgsql
volatile
set search_path from current
as $$
#variable_conflict use_column
declare
  reader int;
  nothing constant pg_snapshot := '1:1:';
  seen pg_snapshot;
  first_txid xid8 := '0';
  first_seq bigint := 0;
begin
  -- no segment is truncated until this consumer can be seen by others
  execute format('lock table message_%1$s, batch_%1$s in access share mode', add_consumer.queue_id);
  seen := case when start_from = 'earliest' then nothing else snapshot_now() end;
  if start_from not in ('earliest', 'latest') then
    execute format('select m.txid, m.seq from message_%s m where m.lane = 0 and m.consumer_id is null and m.created_at >= $1 order by m.lane, m.txid, m.seq limit 1', add_consumer.queue_id)
      into first_txid, first_seq using start_from::timestamptz;
  end if;
  insert into consumer (queue_id, name, mode) values (add_consumer.queue_id, consumer, add_consumer.mode) returning id into reader;
  execute format($sql$
    insert into batch_%1$s (segment, consumer_id, n, window_n, prev_snapshot, next_snapshot, last_txid, last_seq, messages, exhausted)
    values (pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')), $1, 1, 1, $2, $3, $4, $5 - 1, 0, $6)
  $sql$, add_consumer.queue_id) using reader, case when first_txid > '0' then nothing else seen end, seen, coalesce(first_txid, '0'), coalesce(first_seq, 0),
    coalesce(first_txid, '0') = '0';
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

create function check_subscribe(options jsonb) returns void
language plpgsql
immutable
set search_path from current
as $$
declare
  unknown text;
begin
  if jsonb_typeof(options) is distinct from 'object' then
    raise exception using errcode = 'PQ004', message = format('expected the options of subscribe to be a JSON object, got: %s', coalesce(left(options::text, 100), 'NULL'));
  end if;
  select string_agg(quote_literal(key), ', ') into unknown from jsonb_object_keys(options) as key where key not in ('from', 'mode');
  if unknown is not null then
    raise exception using errcode = 'PQ004', message = format('unknown option of subscribe: %s', unknown), hint = 'Known options: from, mode.';
  end if;
  if options ->> 'mode' not in ('exclusive', 'shared') then
    raise exception using errcode = 'PQ004', message = format('expected mode to be "exclusive" or "shared", got: %L', options ->> 'mode');
  end if;
end
$$;

-- Removes a consumer: 1 removed, 0 there was none. What it has not received stays for the others.
create function unsubscribe(queue text, consumer text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  removed int;
begin
  delete from consumer c where c.queue_id = require_queue(queue) and c.name = unsubscribe.consumer;
  get diagnostics removed = row_count;
  return removed;
end
$$;
