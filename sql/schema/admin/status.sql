-- What operators and dashboards read. Functions, because every queue has tables of its own; read only, and safe to call at any time.
-- What a consumer has before it is in admin/consumer_status.sql.

-- One row a queue. sent_per_second: since the first message in the current segment, what was delivered late or again included. bytes: on
-- disk, without indexes. delayed: what waits for its time, in all tables.
create function queue_status(queue text default null) returns table (
  queue_name text,
  consumers int,
  segments int,
  current_segment int,
  rotated_at timestamptz,
  sent_per_second float8,
  bytes bigint,
  delayed bigint,
  dead_letters bigint,
  paused boolean
)
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  return query
    select q.name, (select count(*)::int from consumer c where c.queue_id = q.id), s.segments, pointer_segment(s.pointer),
           pointer_moved_at(s.pointer), sent_per_second(q.id),
           (select sum(segment_bytes(q.id, n))::bigint from generate_series(0, s.segments - 1) as n),
           delayed_count(q.uid), (select count(*) from dead_letter d where d.queue_id = q.id), q.paused
      from queue q
     cross join lateral (
       select segment_count(q.id) as segments, pg_sequence_last_value(relation(format('segment_pointer_%s', q.id))) as pointer
     ) s
     where queue_status.queue is null or q.name = queue_status.queue
     order by q.name;
end
$$;

-- The rate at which messages come into the current segment of a queue; 0 when nothing is in it.
create function sent_per_second(queue_id int) returns float8
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id))));
  per_second float8;
begin
  execute format(qualified($sql$
    select (l.last_value - f.seq + 1) / greatest(extract(epoch from clock_timestamp() - f.created_at), 1)
      from (
        select f.seq, f.created_at
          from generate_series(0, (select lanes from {schema}.queue where id = %1$s) - 1) as of(lane)
         cross join lateral (select m.seq, m.created_at from {schema}.message_%1$s_%2$s m where m.lane = of.lane order by m.lane, m.txid, m.seq limit 1) f
         order by f.seq
         limit 1
      ) f,
      {schema}.message_seq_%1$s l
  $sql$), queue_id, current_segment) into per_second;
  return coalesce(per_second, 0);
end
$$;

-- How many messages of a queue wait for their time.
create function delayed_count(queue_uid bigint) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  source text;
  position delayed_position;
  waiting bigint;
  total bigint := 0;
begin
  foreach source in array delayed_tables() loop
    position := delayed_position(source);
    execute format(qualified($sql$
      select count(*) from {schema}.%I d
       where d.queue_uid = $1 and not {schema}.is_moved($2, d.txid, d.due_at, d.seq)
    $sql$), source) into waiting using queue_uid, position;
    total := total + waiting;
  end loop;
  return total;
end
$$;

-- One row a segment of a queue. waits_for: what keeps its space from being given back, by name; null for the current segment and for
-- empty ones, an empty array for one that the next maintain will truncate.
create function segment_status(queue text) returns table (segment int, is_current boolean, bytes bigint, waits_for text[])
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  current_number constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', of_queue))));
begin
  for segment in select n from generate_series(0, segment_count(of_queue) - 1) as n loop
    is_current := segment = current_number;
    bytes := segment_bytes(of_queue, segment);
    waits_for := case when not is_current and bytes > 0 then segment_blockers(of_queue, segment) end;
    return next;
  end loop;
end
$$;

-- What keeps a segment from being truncated: consumers, and sessions that have held a lock on it for longer than a second.
create function segment_blockers(queue_id int, segment int) returns text[]
language plpgsql
volatile
set search_path from current
as $$
declare
  blockers text[] := '{}';
  subscriber record;
begin
  if not exists (select from consumer c where c.queue_id = segment_blockers.queue_id) then
    blockers := blockers || 'no consumer has subscribed'::text;
  end if;
  for subscriber in select c.id, c.name from consumer c where c.queue_id = segment_blockers.queue_id order by c.name loop
    if not segment_is_received(queue_id, segment, subscriber.id) then
      blockers := blockers || format('consumer %s has not received all of it', quote_ident(subscriber.name));
    end if;
  end loop;
  if not segment_is_settled(queue_id, segment) then
    blockers := blockers || (
      select array_agg(distinct format('consumer %s has not settled all of it', quote_ident(c.name)))
        from open_batches(queue_id) b
        join consumer c on c.id = b.consumer_id
    );
  end if;
  if segment_kept_until(queue_id, segment) is not null then
    blockers := blockers || format('the retention keeps it until %s', segment_kept_until(queue_id, segment));
  end if;
  return blockers || array(
    select h.holder || ' holds a lock on it since ' || h.since
      from lock_holders(array(select to_regclass(format(qualified('{schema}.%s_%s_%s'), kind, queue_id, segment)) from unnest('{message,batch,outcome}'::text[]) as kind)::oid[]) h
     where h.since < clock_timestamp() - interval '1 s' or h.holder like 'prepared transaction %'
  );
end
$$;

-- Workers that are alive, the one that has been heard of last first.
create function worker_status() returns table (worker text, alive_until timestamptz)
language sql
volatile
security definer
set search_path from current
begin atomic
  select a.worker, a.alive_until
    from (select h.worker, worker_alive_until(h.worker) as alive_until from (select distinct worker from heartbeat) h) a
   where a.alive_until >= clock_timestamp()
   order by 2 desc;
end;
