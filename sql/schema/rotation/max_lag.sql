-- Consumers that lag behind. What one consumer has not received is kept for it, and with it the space of all. A queue's max_lag says for
-- how long; then the consumer is warned of, whenever a segment is full, or dropped. Nothing is dropped without having asked for it.
--
-- A message is created long before it can be received when its transaction is long. So its age is not enough for a drop. That takes two looks,
-- max_lag apart, both of which see a message that the consumer has not received. A look is a snapshot and its time. It is kept as a batch row
-- of no consumer, in the current segment; one that is truncated with its segment delays a drop, no more.

-- When the oldest message was sent that a consumer has not received; null: it has received all. Judged by the first hundred that wait, and
-- not by retries and delayed messages, which are older than they have waited. seen: of what this snapshot sees; null: of all.
create function oldest_unreceived_at(queue_id int, consumer_id int, seen pg_snapshot default null) returns timestamptz
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  oldest_at timestamptz;
begin
  execute render($sql$
    select min(m.created_at)
      from {schema}.cursors(${queue}, $1) p
     cross join lateral (
       select m.id, m.txid, m.seq, m.consumer_id, m.created_at
         from {schema}.message_${queue} m
        where m.lane = p.lane
          and (m.txid, m.seq) > ${range_start}
        order by m.lane, m.txid, m.seq
        limit 100
     ) m
     where m.consumer_id is null and m.id = m.seq and ($2 is null or pg_visible_in_snapshot(m.txid, $2))
  $sql$, jsonb_build_object('queue', queue_id, 'range_start', range_start('p', 'p.prev'))) into oldest_at using consumer_id, seen;
  return oldest_at;
end
$$;

-- Looks at a queue, unless that was done lately, and returns what was seen by the last look that is so old; null: by none.
create function look(queue_id int, age interval) returns pg_snapshot
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  looks constant text := format(qualified('from {schema}.batch_%s b where b.consumer_id = 0 and b.lane = 0'), queue_id);
  now constant timestamptz := clock_timestamp();
  last record;
  seen pg_snapshot;
begin
  execute format('select b.batch_no, b.created_at %s order by b.batch_no desc limit 1', looks) into last;
  if (last.created_at between now - age / 8 and now) is not true then
    execute format(qualified($sql$
      insert into {schema}.batch_%1$s (segment, consumer_id, batch_no, next_snapshot, window_batch_no, last_txid, last_seq, messages)
      values ({schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_%1$s')), 0, $1, $2, $1, '0', -1, 0)
    $sql$), queue_id) using coalesce(last.batch_no, 0) + 1, snapshot_now();
  end if;
  execute format('select b.next_snapshot %s and b.created_at <= $1 order by b.batch_no desc limit 1', looks) into seen using now - age;
  return seen;
end
$$;

-- Looks at the consumers of a queue with a max_lag: drops, if it is to, and returns how many; else warns,
-- if it is about to rotate.
create function check_lag(queue_id int) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  settings queue;
  reader record;
  drops boolean;
  seen pg_snapshot;
  dropped int := 0;
begin
  select * into settings from queue q where q.id = queue_id;
  if settings.max_lag is null then
    return 0;
  end if;
  drops := settings.max_lag_action = 'drop';
  for reader in
    select c.id, c.name, l.oldest_at
      from consumer c
     cross join lateral (select oldest_unreceived_at(check_lag.queue_id, c.id) as oldest_at offset 0) l
     where c.queue_id = check_lag.queue_id and l.oldest_at < clock_timestamp() - settings.max_lag
  loop
    if drops then
      seen := coalesce(seen, look(queue_id, settings.max_lag));
      reader.oldest_at := case when seen is not null then oldest_unreceived_at(queue_id, reader.id, seen) end;
      continue when reader.oldest_at is null;
      insert into dropped_consumer (queue_id, name, oldest_at) values (check_lag.queue_id, reader.name, reader.oldest_at);
      delete from consumer c where c.id = reader.id;
      dropped := dropped + 1;
    end if;
    if drops or segment_is_full(check_lag.queue_id) then
      raise warning using
        errcode = 'PQ002',
        message = format('consumer %s of queue %s %s: it has not received what was sent at %s', quote_literal(reader.name), quote_literal(settings.name),
          case when drops then 'is dropped' else 'lags' end, reader.oldest_at),
        hint = format('max_lag of the queue is %s.', settings.max_lag);
    end if;
  end loop;
  return dropped;
end
$$;
