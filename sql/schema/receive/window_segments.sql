-- Where a window's messages lie. A receive that looks into every segment of the ring pays for each of them; with a ring that has grown
-- that is most of its cost. But a window never changes once taken, so a page of it need only look into the segments that hold the next of
-- its messages. Which ones those are is found out with its fifth page, and stored with the window. A ring of few segments is not worth it.

create function segments_looked_into() returns int
language sql
immutable
return 4;

-- The segments that hold messages of a lane from the end of prev_snapshot to that of next_snapshot, with each one's first and last txid. What was
-- late, from before the end of prev_snapshot, is read from the whole ring. Some of these messages may not be in the window: that does no harm.
create function find_window_segments(
  queue_id int, lane int, prev_snapshot pg_snapshot, next_snapshot pg_snapshot, out segments int[], out mins xid8[], out maxs xid8[]
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  segment int;
  ends record;
begin
  segments := '{}';
  mins := '{}';
  maxs := '{}';
  for segment in 0 .. segment_count(queue_id) - 1 loop
    execute format(qualified($sql$
      select (select m.txid from {schema}.message_%1$s_%2$s m where m.lane = $3 and m.txid >= $1 and m.txid < $2 order by m.lane, m.txid, m.seq limit 1) as first,
             (select m.txid from {schema}.message_%1$s_%2$s m where m.lane = $3 and m.txid >= $1 and m.txid < $2 order by m.lane desc, m.txid desc, m.seq desc limit 1) as last
    $sql$), queue_id, segment) into ends using pg_snapshot_xmax(prev_snapshot), pg_snapshot_xmax(next_snapshot), lane;
    if ends.first is not null then
      segments := segments || segment;
      mins := mins || ends.first;
      maxs := maxs || ends.last;
    end if;
  end loop;
end
$$;

-- The next part of a window: everything from a txid on and before another lies in these segments. more: the window goes on from there.
-- before is null when nothing is left.
create function window_part(
  segments int[], mins xid8[], maxs xid8[], from_txid xid8, out part int[], out before xid8, out more boolean
)
language plpgsql
immutable
set search_path from current
as $$
declare
  last xid8;
begin
  -- before PostgreSQL 15 there is no min(xid8)
  select w.last into last from unnest(maxs) as w(last) where w.last >= from_txid order by w.last limit 1;
  before := (last::text::numeric + 1)::text::xid8;
  part := array(select w.segment from unnest(segments, mins, maxs) as w(segment, first, last) where w.first < before and w.last >= from_txid);
  more := exists (select from unnest(maxs) as w(last) where w.last >= before);
end
$$;

-- Part of a template: the statements that read a window part by part, and return from the function with the first page that has something.
create function receive_parts() returns text
language sql
immutable
return $parts$
    -- of a long window alone: to find out plans a statement for each segment, and most windows end with their first page, also when it had all
    -- that was asked for
    if attempt_no = 1 and not is_among_late${unless_cancelled} and (position.window_segments is not null or position.batch_no > position.window_batch_no + 2) then
      if position.window_segments is null then
        select w.segments, w.mins, w.maxs into position.window_segments, position.window_mins, position.window_maxs
          from {schema}.find_window_segments(${queue}, ${lane}, position.prev_snapshot, position.next_snapshot) w;
        -- stored again, with what was found out
        keeps_window := false;
      end if;
      from_txid := position.last_txid;
      loop
        select * into part from {schema}.window_part(position.window_segments, position.window_mins, position.window_maxs, from_txid);
        -- a segment younger than this function: this once, look into all
        exit when part.before is null or not part.part <@ ${segments:L}::int[];
        -- a segment that is not in the part is not even opened. The order across segments has to be made: a union is not read in order
        ${return_part}
        ${append_batch_of_part}
        from_txid := part.before;
      end loop;
      if part.before is null then
        ${count_expired}
        continue;
      end if;
    end if;$parts$;
