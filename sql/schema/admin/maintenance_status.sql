-- What shows that nobody calls maintain, that the schema is not this cluster's, or that lanes wait: for `pgque doctor`. Read only.

-- Heartbeats' tables are moved on every ten minutes by whoever calls maintain, and by nobody else. So the time of the last move says when
-- maintenance was seen, some ten minutes more or less.
--
-- is_same_cluster: the stored transaction ids are this cluster's; false: repair() is needed. seen_at: above. overdue_since: since when the first
-- delayed message that has not been delivered has been due; null: none is. clock_behind: by how much the server's clock is behind the latest
-- time at which something was written that is still there; null: it is not.
create function maintenance_status(out is_same_cluster boolean, out seen_at timestamptz, out overdue_since timestamptz, out clock_behind interval)
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
declare
  source text;
  position record;
  due_at timestamptz;
begin
  is_same_cluster := is_same_cluster();
  seen_at := pointer_moved_at(pg_sequence_last_value('heartbeat_pointer'));
  foreach source in array delayed_tables() loop
    position := delayed_position(source);
    execute format(qualified($sql$
      select d.due_at from {schema}.%I d where (d.due_at, d.seq) > ($1, $2) and d.due_at < clock_timestamp() order by d.due_at, d.seq limit 1
    $sql$), source) into due_at using position.due_at, position.seq;
    overdue_since := least(overdue_since, due_at);
  end loop;
  select max(t.written_at) - clock_timestamp()
    into clock_behind
    from (
      select max(h.written_at) from heartbeat h
      union all
      select max(f.sent_at) from scheduled_run f
      union all
      select max(pointer_moved_at(pg_sequence_last_value(p.pointer)))
        from (
          select unnest('{heartbeat_pointer,dedupe_pointer,result_pointer,step_pointer,progress_pointer,delayed_soon_pointer,delayed_later_pointer}'::regclass[])
          union all
          select relation(format('segment_pointer_%s', q.id)) from queue q
        ) p(pointer)
    ) t(written_at)
  having max(t.written_at) > clock_timestamp() + interval '1 s';
end
$$;

-- One row a shared consumer that has batches whose lease has ended and whose worker is not alive: the next maintain gives their messages
-- back, so they are seen only where nobody calls it. lost_since: when the first of these leases ended.
create function lost_batches() returns table (queue_name text, consumer text, batches int, lost_since timestamptz)
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  return query
    select q.name, c.name, count(*)::int, min(b.lease_until)
      from queue q
     cross join lateral open_batches(q.id) b
      join consumer c on c.id = b.consumer_id
     where c.mode = 'shared'
       and b.lease_until < clock_timestamp()
       and (b.worker is null or not is_alive(b.worker))
     group by q.name, c.name
     order by q.name, c.name;
end
$$;

-- One row an ordered consumer that blocks and has lanes that wait behind a message that failed or is snoozed. wait: the longest of these waits,
-- from its beginning to its end, or until now if that is over. waits_until: when the last of them ends.
create function waiting_lanes() returns table (queue_name text, consumer text, lanes int, wait interval, waits_until timestamptz)
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
set enable_sort = off
as $$
declare
  blocking record;
begin
  for blocking in
    select q.id as queue_id, q.name as queue, q.lanes, c.id, c.name
      from queue q
      join consumer c on c.queue_id = q.id
     where c.mode = 'ordered' and c.on_failure = 'block'
     order by q.name, c.name
  loop
    return query execute format(qualified($sql$
      select $1, $2, count(*)::int, max(greatest(b.waits_until, clock_timestamp()) - b.created_at), max(b.waits_until)
        from generate_series(0, $3 - 1) as l(lane)
       cross join lateral (select * from {schema}.batch_%1$s b where b.consumer_id = $4 and b.lane = l.lane order by b.batch_no desc limit 1) b
       where b.waits_until is not null
         and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
      having count(*) > 0
    $sql$), blocking.queue_id) using blocking.queue, blocking.name, blocking.lanes, blocking.id;
  end loop;
end
$$;
