-- Registers a consumer: 1 new, 0 exists. The first consumer of a queue starts at the earliest message kept, later ones from now
-- on, unless options say {"from": "earliest"}, {"from": "latest"} or {"from": "2030-01-31T12:00:00Z"}: at the first message kept, in the
-- order of the log, that was sent at or after that time.
create function subscribe(queue text, consumer text, options jsonb default '{}') returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
  start_from constant text := subscribe_from(options);
  reader int;
  nothing constant pg_snapshot := '1:1:';
  seen pg_snapshot;
  first_txid xid8 := '0';
  first_seq bigint := 0;
begin
  perform require_read_committed('subscribe');
  perform check_name('consumer', consumer);
  -- no segment is truncated until this consumer can be seen by others
  execute format('lock table message_%1$s, batch_%1$s in access share mode', of_queue);
  perform pg_advisory_xact_lock(lock_key('subscribe', of_queue));
  if exists (select from consumer c where c.queue_id = of_queue and c.name = subscribe.consumer) then
    return 0;
  end if;
  if start_from = 'earliest' or (start_from is null and not exists (select from consumer c where c.queue_id = of_queue)) then
    seen := nothing;
  else
    seen := snapshot_now();
  end if;
  if start_from not in ('earliest', 'latest') then
    execute format('select m.txid, m.seq from message_%s m where m.lane = 0 and m.consumer_id is null and m.created_at >= $1 order by m.lane, m.txid, m.seq limit 1', of_queue)
      into first_txid, first_seq using start_from::timestamptz;
  end if;
  insert into consumer (queue_id, name) values (of_queue, subscribe.consumer) returning id into reader;
  execute format($sql$
    insert into batch_%1$s (segment, consumer_id, n, window_n, prev_snapshot, next_snapshot, last_txid, last_seq, messages, exhausted)
    values (pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')), $1, 1, 1, $2, $3, $4, $5 - 1, 0, $6)
  $sql$, of_queue) using reader, case when first_txid > '0' then nothing else seen end, seen, coalesce(first_txid, '0'), coalesce(first_seq, 0),
    coalesce(first_txid, '0') = '0';
  return 1;
end
$$;

-- Where a new consumer starts: earliest, latest, a time, or null for the default.
create function subscribe_from(options jsonb) returns text
language plpgsql
stable
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
  if options ->> 'mode' <> 'shared' then
    raise exception using errcode = 'PQ004', message = format('expected mode to be "shared", got: %L', options ->> 'mode');
  end if;
  if options ->> 'from' not in ('earliest', 'latest') then
    perform (options ->> 'from')::timestamptz;
  end if;
  return options ->> 'from';
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected from to be "earliest", "latest" or a time such as "2030-01-31T12:00:00Z", got: %L', options ->> 'from');
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
