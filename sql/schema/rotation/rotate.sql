-- Rotation: moving on to the next segment, and truncating drained ones.
--
-- A segment is drained when every consumer has received every message in it and no open batch starts at or before its last
-- message or lies in it. All checks are index probes.

-- A segment that the pointer may move to: empty, and its truncation or creation has committed. Moved inside the truncating
-- transaction, the pointer would send producers into its ACCESS EXCLUSIVE lock.
create function segment_is_ready(queue_id int, segment ring_segment) returns boolean
language plpgsql
volatile
set search_path from current
as $$
begin
  return is_empty(segment) and not is_being_truncated(relation(format('message_%s_%s', queue_id, (segment).segment)));
end
$$;

-- The current segment is full, or has taken inserts for long enough. ring: see ring_segments; null: it is looked at.
create function segment_is_full(queue_id int, ring ring_segment[] default null) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  settings queue;
  pointer constant bigint := pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id)));
  age constant interval := pointer_age(pointer);
  bytes bigint;
begin
  select * into settings from queue q where q.id = queue_id;
  if age < settings.rotation_min_interval then
    return false;
  end if;
  -- not the tables that rotation itself writes to: a queue that rests would rotate for ever
  bytes := (
    select r.message_bytes + r.outcome_bytes
      from unnest(coalesce(ring, array(select ring_segments(segment_is_full.queue_id)))) as r
     where r.segment = pointer_segment(pointer)
  );
  return bytes > 0 and (bytes >= settings.rotation_bytes or age >= settings.rotation_period);
end
$$;

-- Moves the insert pointer when the current segment is full; grows the ring when there is no empty one to move to.
create function move_pointer(queue_id int, ring ring_segment[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id))));
  next ring_segment;
begin
  if not segment_is_full(queue_id, ring) then
    return false;
  end if;
  -- the one that has been empty for longest: so segments are filled in the order in which they are truncated
  foreach next in array ring loop
    if next.segment <> current_segment and segment_is_ready(queue_id, next) then
      perform setval(relation(format('segment_pointer_%s', queue_id)), pointer_to(next.segment));
      return true;
    end if;
  end loop;
  if ring_may_grow(queue_id, current_segment, ring) then
    perform grow_ring(queue_id, cardinality(ring));
  end if;
  return false;
end
$$;

-- Every consumer, or the one that is named, has received every message in the segment; without a segment, in all. positions: see open_batches.
create function segment_is_received(queue_id int, segment int, consumer_id int default null, positions consumer_position[] default null) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  received boolean;
begin
  execute render($sql$
    select count(*) > 0 and bool_and(
             -- nothing after the position …
             not exists (
               select from {schema}.${messages:I} m
                where m.lane = p.lane
                  and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                  and (m.txid, m.seq) > ${range_start}
             )
             -- … and nothing of a transaction that was open when one of the snapshots was taken and is not received yet
             and not exists (
               select from (select pg_snapshot_xip(p.prev) union select pg_snapshot_xip(p.next)) as late(txid)
                 join {schema}.${messages:I} m on m.lane = p.lane and m.txid = late.txid
                where (m.consumer_id is null or m.consumer_id = p.consumer_id)
                  and not (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq))
                  and not pg_visible_in_snapshot(m.txid, p.prev)
             )
           )
      from unnest($1) p
  $sql$, jsonb_build_object(
    'messages', concat_ws('_', 'message', queue_id, segment),
    'range_start', range_start('p', 'p.prev')
  ))
    into received using coalesce(positions, consumer_positions(queue_id, consumer_id));
  return received;
end
$$;

-- No batch that is open lies in the segment or holds a message of it.
create function segment_is_settled(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  settled boolean;
begin
  execute format(qualified($sql$
    select not exists (
      select from {schema}.open_batches(%1$s) b
       where b.segment = %2$s
          or exists (select from {schema}.message_%1$s_%2$s m where m.lane = b.lane and (m.txid, m.seq) >= (b.first_txid, b.first_seq))
    )
  $sql$), queue_id, segment) into settled;
  return settled;
end
$$;

-- Until when a segment is kept although everybody is done with it; null: not at all. Its last message says.
create function segment_kept_until(queue_id int, segment int) returns timestamptz
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  retention constant interval := (select q.retention from queue q where q.id = queue_id);
  last_created_at timestamptz;
begin
  if retention = '0' then
    return null;
  end if;
  execute format(qualified($sql$
    select max(m.created_at)
      from generate_series(0, (select lanes from {schema}.queue where id = %1$s) - 1) as of(lane)
     cross join lateral (
       select m.created_at from {schema}.message_%1$s_%2$s m where m.lane = of.lane order by m.lane desc, m.txid desc, m.seq desc limit 1
     ) m
  $sql$), queue_id, segment) into last_created_at;
  return case when last_created_at + retention > clock_timestamp() then last_created_at + retention end;
end
$$;

-- Takes ACCESS EXCLUSIVE on all tables of a segment, in the order in which receivers and acks take theirs. At once, or by waiting 10 ms for
-- those who read messages to end; a waiting lock holds up every new reader, so only one of the three is waited for, and after a
-- failed attempt the next one comes later and later, up to 30 s. A sequence counts the attempts of all sessions together:
-- 64 * milliseconds since 1970 of the next attempt + failures so far.
create function lock_segment(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
-- as the function's own setting: set_config would leak into the caller
set lock_timeout = '10ms'
as $$
declare
  register constant regclass := relation(format('lock_attempts_%s', queue_id));
  attempts constant bigint := pg_sequence_last_value(register);
  now_ms constant bigint := extract(epoch from clock_timestamp()) * 1000;
  next_ms constant bigint := attempts >> 6;
  -- a segment that is truncated meanwhile says nothing about the one that a reader holds: only time makes failures forgotten
  failures constant bigint := case when now_ms > next_ms + 60000 then 0 else least(attempts & 63, 20) end;
  -- a time later than any that is set here: the clock has stepped back
  may_wait constant boolean := now_ms >= next_ms or next_ms > now_ms + 30000;
  kind text;
begin
  -- an attempt that fails costs transaction ids, a look none
  if not may_wait and segment_is_in_use(queue_id, segment) then
    return false;
  end if;
  foreach kind in array array_remove(segment_tables(queue_id), 'message') loop
    execute format(qualified('lock table only {schema}.%I in access exclusive mode nowait'), concat_ws('_', kind, queue_id, segment));
  end loop;
  execute format(qualified('lock table only {schema}.message_%s_%s in access exclusive mode %s'), queue_id, segment, case when not may_wait then 'nowait' end);
  return true;
exception
  when lock_not_available then
    if may_wait then
      perform setval(register, ((now_ms + least(30000, 250 * (1 << failures::int))) << 6) | (failures + 1));
    end if;
    return false;
end
$$;

-- Another transaction holds a lock on one of the tables of a segment.
create function segment_is_in_use(queue_id int, segment int) returns boolean
language sql
volatile
set search_path from current
begin atomic
  select exists (
    select from pg_locks l
     where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and l.relation = any (array(
         select relation(format('%s_%s_%s', kind, segment_is_in_use.queue_id, segment_is_in_use.segment))::oid from unnest(segment_tables(segment_is_in_use.queue_id)) as kind
       ))
  );
end;

-- Truncates the tables of a segment, whatever is in them.
create function empty_segment(queue_id int, segment int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute 'truncate ' || (
    select string_agg(format(qualified('only {schema}.%I'), concat_ws('_', kind, queue_id, segment)), ', ') from unnest(segment_tables(queue_id)) as kind
  );
end
$$;

-- Truncates one segment if it is drained. True: its space is given back when this transaction commits.
create function truncate_segment(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
begin
  if segment_kept_until(queue_id, segment) is not null then
    return false;
  end if;
  -- in this order: once every consumer has passed the segment, no new batch can hold a message of it
  if not segment_is_received(queue_id, segment) or not segment_is_settled(queue_id, segment) then
    return false;
  end if;
  begin
    if not lock_segment(queue_id, segment) then
      return false;
    end if;
    -- both again, now that nothing is under way in it: somebody may have used an old pointer or subscribed, and what came in late may be
    -- in an open batch by now
    if not segment_is_received(queue_id, segment) or not segment_is_settled(queue_id, segment) then
      -- with the block ends its lock, which would keep receivers and senders waiting until the transaction is over
      raise exception using errcode = 'PQ000', message = 'not drained';
    end if;
  exception
    when sqlstate 'PQ000' then
      return false;
  end;
  perform copy_cursors(queue_id, segment);
  perform empty_segment(queue_id, segment);
  return true;
end
$$;

-- Truncates a segment that is drained. Only one: the lock on it is held until the transaction ends. Comes after move_pointer, so that the
-- pointer never moves to a segment that this very transaction truncates.
--
-- The oldest is looked at first: while a consumer has not received it, or retention keeps it, the same is true of all that came after it.
-- Then the others for a moment, in any order, so that each has its turn. ring and positions: as maintenance has seen them, in this transaction.
create function truncate_drained(queue_id int, ring ring_segment[], positions consumer_position[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id))));
  started constant timestamptz := clock_timestamp();
  looked int := 0;
  segment int;
begin
  for segment in
    select f.segment
      from (
        select r.segment, row_number() over (order by r.age) as age
          from unnest(ring) with ordinality as r(segment, message_bytes, batch_bytes, outcome_bytes, file, age)
         where r.segment <> current_segment and r.message_bytes + r.batch_bytes + r.outcome_bytes > 0
      ) f
     order by case when f.age > 1 then random() else -1 end
  loop
    if segment_kept_until(queue_id, segment) is not null or not segment_is_received(queue_id, segment, null, positions) then
      return false;
    end if;
    if truncate_segment(queue_id, segment) then
      return true;
    end if;
    looked := looked + 1;
    -- at two at least: the oldest may be in somebody's hands for hours
    exit when looked > 1 and clock_timestamp() - started > interval '20 ms';
  end loop;
  return false;
end
$$;
