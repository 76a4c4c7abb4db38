-- Moving delayed messages on: from the near store into their queues once they are due, from the far store into the near one when
-- their hour has come, and out of a table that is to be truncated.
--
-- The log of a table is a cursor: a snapshot S and a point t in (due_at, seq). A row has been moved if and only if S sees it and it
-- is at or before t. So the next move takes what lies after t up to the wanted time, and what lies at or before t but was not yet
-- visible in S: its transaction was open then. With nothing to move, nothing is written.

-- The condition that a row of a delayed table d is to be moved, in three parts that each have an index to read by. Parameters:
-- $1 S, $2 and $3 the old point, $4 and $5 the new one, $6 the snapshot of this move.
create function delayed_rows(source text) returns text
language sql
immutable
return format($sql$
  (
    select d.* from %1$I d
     where (d.due_at, d.seq) > ($2, $3) and (d.due_at, d.seq) <= ($4, $5) and pg_visible_in_snapshot(d.txid, $6)
  )
  union all
  (
    select d.*
      from pg_snapshot_xip($1) as late(txid)
     cross join lateral (select * from %1$I d where d.txid = late.txid and (d.due_at, d.seq) <= ($2, $3)) d
     where pg_visible_in_snapshot(d.txid, $6)
  )
  union all
  (
    select d.* from %1$I d
     where d.txid >= pg_snapshot_xmax($1) and (d.due_at, d.seq) <= ($2, $3) and pg_visible_in_snapshot(d.txid, $6)
  )
$sql$, source);

-- How far a table has been moved.
create function delayed_position(source text, out n bigint, out snapshot pg_snapshot, out due_at timestamptz, out seq bigint, out moved bigint)
language plpgsql
stable
set search_path from current
as $$
begin
  execute format('select l.n, l.snapshot, l.due_at, l.seq, l.moved from %I l order by l.n desc limit 1', source || '_log')
    into n, snapshot, due_at, seq, moved;
  if n is null then
    select 0, '1:1:'::pg_snapshot, '-infinity'::timestamptz, -1, 0 into n, snapshot, due_at, seq, moved;
  end if;
end
$$;

-- Moves up to about max_rows rows that are due by a time, the earliest first. target: near or far for a table of that store, null for
-- the queues. Returns how many. The caller holds the lock "delayed".
create function move_delayed(source text, target text, due_by timestamptz, max_rows int default 10000) returns bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  started constant timestamptz := clock_timestamp();
  seen constant pg_snapshot := snapshot_now();
  position constant record := delayed_position(source);
  new_due_at timestamptz;
  new_seq bigint;
  moved bigint;
begin
  execute format($sql$
    select c.due_at, c.seq
      from (
        select d.due_at, d.seq
          from %I d
         where (d.due_at, d.seq) > ($1, $2) and d.due_at <= $3 and pg_visible_in_snapshot(d.txid, $4)
         order by d.due_at, d.seq
         limit $5
      ) c
     order by c.due_at desc, c.seq desc
     limit 1
  $sql$, source) into new_due_at, new_seq using position.due_at, position.seq, due_by, seen, max_rows;
  new_due_at := coalesce(new_due_at, position.due_at);
  new_seq := coalesce(new_seq, position.seq);
  if target is null then
    moved := deliver_moved(source, position.snapshot, position.due_at, position.seq, new_due_at, new_seq, seen);
  else
    execute format($sql$
      insert into %I (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select d.due_at, d.queue_uid, d.id, d.created_at, d.consumer_id, d.attempt, d.lane, d.key, d.expires_at, d.type, d.payload, d.headers
        from (%s) d
    $sql$, delayed_table(target), delayed_rows(source))
      using position.snapshot, position.due_at, position.seq, new_due_at, new_seq, seen;
    get diagnostics moved = row_count;
  end if;
  -- a look at many rows that came in since S is not paid for again. Not one that was slow for other reasons
  if moved > 0 or (clock_timestamp() - started > interval '10 ms' and index_entries_read(source) > 1000) then
    execute format('insert into %I (n, snapshot, due_at, seq, moved) values ($1, $2, $3, $4, $5)', source || '_log')
      using position.n + 1, seen, new_due_at, new_seq, position.moved + moved;
  end if;
  return moved;
end
$$;

-- Inserts the rows of a move into the queues they are for. Those of queues that were dropped go nowhere.
create function deliver_moved(
  source text, old_snapshot pg_snapshot, old_due_at timestamptz, old_seq bigint, new_due_at timestamptz, new_seq bigint, seen pg_snapshot
) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  target record;
  delivered bigint;
  moved bigint := 0;
begin
  for target in
    execute format('select r.queue_uid, q.id, q.lane_by from (select distinct d.queue_uid from (%s) d) r left join queue q on q.uid = r.queue_uid order by q.id', delayed_rows(source))
      using old_snapshot, old_due_at, old_seq, new_due_at, new_seq, seen
  loop
    if target.id is null then
      moved := moved + 1;
      continue;
    end if;
    -- lanes may have been added since a message was sent whose transaction was open then: the lane of a key is found anew
    execute format($sql$
      insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select nextval('message_seq_%1$s'), d.id, d.created_at, d.consumer_id, d.attempt, %4$s, d.key, d.expires_at, d.type, d.payload, d.headers
        from (%3$s) d
       where d.queue_uid = $7
       order by d.due_at, d.seq
    $sql$, target.id, pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', target.id)::regclass)), delayed_rows(source),
    case when target.lane_by = 'key' then format('lane_of_%s(d.key, d.id)', target.id) else 'd.lane' end)
      using old_snapshot, old_due_at, old_seq, new_due_at, new_seq, seen, target.queue_uid;
    get diagnostics delivered = row_count;
    moved := moved + delivered;
    perform wake(target.id);
  end loop;
  return moved;
end
$$;
