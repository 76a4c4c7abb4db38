-- Consumers that lag behind. What one consumer has not received is kept for it, and with it the space of all. A queue's max_lag says for
-- how long; then the consumer is warned of, whenever a segment is full, or dropped. Nothing is dropped without having asked for it.

-- When the oldest message was sent that a consumer has not received; null: it has received all. Judged by the first hundred that wait, and
-- not by retries and delayed messages, which are older than they have waited.
create function oldest_unreceived_at(queue_id int, consumer_id int) returns timestamptz
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
  execute format($sql$
    select min(m.created_at)
      from cursors(%1$s, $1) p
     cross join lateral (
       select m.id, m.seq, m.consumer_id, m.created_at
         from message_%1$s m
        where m.lane = p.lane
          and (m.txid, m.seq) > %2$s
        order by m.lane, m.txid, m.seq
        limit 100
     ) m
     where m.consumer_id is null and m.id = m.seq
  $sql$, queue_id, main_part_after('p', 'p.prev')) into oldest_at using consumer_id;
  return oldest_at;
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
  dropped int := 0;
begin
  select * into settings from queue q where q.id = queue_id;
  if settings.max_lag is null then
    return 0;
  end if;
  for reader in
    select c.id, c.name, l.oldest_at
      from consumer c
     cross join lateral (select oldest_unreceived_at(check_lag.queue_id, c.id) as oldest_at offset 0) l
     where c.queue_id = check_lag.queue_id and l.oldest_at < clock_timestamp() - settings.max_lag
  loop
    if settings.max_lag_action = 'drop' then
      insert into dropped_consumer (queue_id, name, oldest_at) values (check_lag.queue_id, reader.name, reader.oldest_at);
      delete from consumer c where c.id = reader.id;
      dropped := dropped + 1;
    end if;
    if settings.max_lag_action = 'drop' or segment_is_full(check_lag.queue_id) then
      raise warning using
        errcode = 'PQ002',
        message = format('consumer %s of queue %s %s: it has not received what was sent at %s', quote_literal(reader.name), quote_literal(settings.name),
          case settings.max_lag_action when 'drop' then 'is dropped' else 'lags' end, reader.oldest_at),
        hint = format('max_lag of the queue is %s.', settings.max_lag);
    end if;
  end loop;
  return dropped;
end
$$;
