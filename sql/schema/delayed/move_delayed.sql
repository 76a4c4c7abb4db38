-- Moving delayed messages on: from the soon store into their queues once they are due, from the later store into the soon one when
-- their hour has come, and out of a table that is to be truncated.
--
-- The log of a table is a cursor: a snapshot S and a point t in (due_at, seq). A row has been moved if and only if S sees it and it
-- is at or before t. So the next move takes what lies at or before t but was not yet visible in S, for its transaction was open then
-- (late rows), and then what lies after t up to the wanted time. Late rows may be many, so they have a cursor of their own in the
-- same log, late_snapshot and a point before t: what it covers has been moved too. With nothing to move, nothing is written.

create type delayed_position as (
  n bigint,
  snapshot pg_snapshot,
  due_at timestamptz,
  seq bigint,
  moved bigint,
  -- null: no late rows are being moved
  late_snapshot pg_snapshot,
  late_due_at timestamptz,
  late_seq bigint
);

-- Whether a row of a delayed table has been moved. Without settings of its own, so that it is written into the plans of its callers.
create function is_moved("position" delayed_position, txid xid8, due_at timestamptz, seq bigint) returns boolean
language sql
immutable
return (pg_visible_in_snapshot(txid, ("position").snapshot) and (due_at, seq) <= (("position").due_at, ("position").seq))
    or coalesce(pg_visible_in_snapshot(txid, ("position").late_snapshot) and (due_at, seq) <= (("position").late_due_at, ("position").late_seq), false);

-- The late rows of a delayed table d, by its index on txid. Parameters: $1 the delayed_position, $2 the snapshot of this move.
create function late_rows(source text) returns text
language sql
stable
set search_path from current
return format(qualified($sql$
  (
    select d.*
      from pg_snapshot_xip(($1).snapshot) as late(txid)
     cross join lateral (select d.ctid, d.* from {schema}.%1$I d where d.txid = late.txid and (d.due_at, d.seq) <= (($1).due_at, ($1).seq)) d
     where pg_visible_in_snapshot(d.txid, $2) and not {schema}.is_moved($1, d.txid, d.due_at, d.seq)
  )
  union all
  (
    select d.ctid, d.*
      from {schema}.%1$I d
     where d.txid >= pg_snapshot_xmax(($1).snapshot) and (d.due_at, d.seq) <= (($1).due_at, ($1).seq)
       and pg_visible_in_snapshot(d.txid, $2) and not {schema}.is_moved($1, d.txid, d.due_at, d.seq)
  )
$sql$), source);

-- The rows after the point and up to a time, by the index on (due_at, seq). $3: the time.
create function rows_after_point(source text) returns text
language sql
stable
set search_path from current
return format(qualified($sql$
  (
    select d.ctid, d.*
      from {schema}.%1$I d
     where (d.due_at, d.seq) > (($1).due_at, ($1).seq) and d.due_at <= $3 and pg_visible_in_snapshot(d.txid, $2)
     order by d.due_at, d.seq
  )
$sql$), source);

-- All rows that have not been moved and are due by a time.
create function pending_rows(source text) returns text
language sql
stable
set search_path from current
return format('%s union all %s', late_rows(source), rows_after_point(source));

-- How far a table has been moved.
create function delayed_position(source text) returns delayed_position
language plpgsql
stable
set search_path from current
as $$
declare
  "position" delayed_position;
begin
  execute format(qualified($sql$
    select l.n, l.snapshot, l.due_at, l.seq, l.moved, l.late_snapshot, l.late_due_at, l.late_seq from {schema}.%I l order by l.n desc limit 1
  $sql$), source || '_log') into "position";
  if ("position").n is null then
    return (0, '1:1:', '-infinity', -1, 0, null, null, null)::delayed_position;
  end if;
  return "position";
end
$$;

create function write_delayed_position(source text, "position" delayed_position) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format(qualified('insert into {schema}.%I (n, snapshot, due_at, seq, moved, late_snapshot, late_due_at, late_seq) select ($1).*'), source || '_log')
    using "position";
end
$$;

-- What one call moves at most. It ends after so many bytes or so long, whatever comes first, and is tried again: a worker cancels a call
-- that takes half a minute, and all of it would be rolled back and begun again.
create function moved_rows_max() returns int language sql immutable return 10000;
create function moved_bytes_max() returns bigint language sql immutable return 16 * 1024 * 1024;
create function moved_time_max() returns interval language sql immutable return interval '250 ms';

-- Moves rows that are due by a time, the earliest first, until one of the limits is reached. target: soon or later for a table of that
-- store, null for the queues. Returns how many. The caller holds the lock "delayed".
create function move_delayed(source text, target text, due_by timestamptz, max_rows int default moved_rows_max()) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  started constant timestamptz := clock_timestamp();
  total bigint := 0;
  bytes bigint := 0;
  page record;
begin
  loop
    page := move_page(source, target, due_by, least(2500, max_rows - total)::int, moved_bytes_max() / 4);
    total := total + page.moved;
    bytes := bytes + page.bytes;
    exit when not page.more or total >= max_rows or bytes >= moved_bytes_max() or clock_timestamp() - started >= moved_time_max();
  end loop;
  return total;
end
$$;

-- Moves one page: late rows if there are any, else those after the point. more: there may be another.
create function move_page(
  source text, target text, due_by timestamptz, max_rows int, max_bytes bigint, out moved bigint, out bytes bigint, out more boolean
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  started constant timestamptz := clock_timestamp();
  old constant delayed_position := delayed_position(source);
  new delayed_position := old;
  seen constant pg_snapshot := coalesce((old).late_snapshot, snapshot_now());
  page record;
  early tid[];
begin
  page := delayed_page(source, late_rows(source), old, seen, due_by, max_rows, max_bytes);
  if page.rows > 0 and page.more then
    new.late_snapshot := seen;
    new.late_due_at := page.last_due_at;
    new.late_seq := page.last_seq;
  else
    new.snapshot := seen;
    new.late_snapshot := null;
    new.late_due_at := null;
    new.late_seq := null;
    if page.rows = 0 and (old).late_snapshot is null then
      page := delayed_page(source, rows_after_point(source), old, seen, due_by, max_rows, max_bytes);
      new.due_at := coalesce(page.last_due_at, (old).due_at);
      new.seq := coalesce(page.last_seq, (old).seq);
    else
      -- what lies after the point comes next
      page.more := true;
    end if;
  end if;
  moved := page.rows;
  bytes := page.bytes;
  more := page.more;
  if moved > 0 and target is null and page.last_due_at > due_by and source <> delayed_table('soon') then
    -- late rows of a table that is being compacted, whose point lies ahead of now: those that are not due go where the collector takes the others
    select array_agg(r.tid) filter (where r.due_at > due_by),
           array_agg(r.tid) filter (where r.due_at <= due_by), array_agg(r.queue_uid) filter (where r.due_at <= due_by)
      into early, page.tids, page.queue_uids
      from unnest(page.tids, page.due_ats, page.queue_uids) as r(tid, due_at, queue_uid);
    perform write_moved(source, 'soon', early, null);
  end if;
  if moved > 0 then
    perform write_moved(source, target, page.tids, page.queue_uids);
  end if;
  -- a look at many rows that came in since S is not paid for again. Not one that was slow for other reasons
  if moved > 0 or (old).late_snapshot is not null
     or (clock_timestamp() - started > interval '10 ms' and index_entries_read(relation(source)) > 1000) then
    new.n := (old).n + 1;
    new.moved := (old).moved + moved;
    perform write_delayed_position(source, new);
  end if;
end
$$;

-- The first rows of a source, by due time, up to the one with which they have max_bytes: where they lie and for which queues, in that order.
-- The length of a payload is known without reading it.
create function delayed_page(
  source text, source_rows text, "position" delayed_position, seen pg_snapshot, due_by timestamptz, max_rows int, max_bytes bigint,
  out rows bigint, out bytes bigint, out more boolean, out last_due_at timestamptz, out last_seq bigint, out tids tid[], out due_ats timestamptz[],
  out queue_uids bigint[]
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  execute format($sql$
    with first_rows as materialized (
      select d.ctid, d.queue_uid, d.due_at, d.seq, coalesce(octet_length(d.payload), 0) + coalesce(pg_column_size(d.headers), 0) + 100 as bytes
        from (%s) d
       order by d.due_at, d.seq
       limit $4
    ),
    counted as (
      select f.*, sum(f.bytes) over (order by f.due_at, f.seq rows unbounded preceding) as bytes_so_far from first_rows f
    ),
    picked as (
      select c.* from counted c where c.bytes_so_far - c.bytes < $5
    )
    select count(*), coalesce(sum(p.bytes), 0), count(*) = $4 or count(*) < (select count(*) from first_rows),
           (array_agg(p.due_at order by p.due_at desc, p.seq desc))[1], (array_agg(p.seq order by p.due_at desc, p.seq desc))[1],
           array_agg(p.ctid order by p.due_at, p.seq), array_agg(p.due_at order by p.due_at, p.seq), array_agg(p.queue_uid order by p.due_at, p.seq)
      from picked p
     where $3 is not null
  $sql$, source_rows)
    into rows, bytes, more, last_due_at, last_seq, tids, due_ats, queue_uids
    using "position", seen, due_by, max_rows, max_bytes;
end
$$;

-- Writes the rows of a page where they go, in its order: into a table of a store, or into the queues they are for. Those of queues that
-- were dropped go nowhere.
create function write_moved(source text, target text, tids tid[], queue_uids bigint[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  part record;
begin
  if target is not null then
    perform write_rows(render($sql$
      insert into {schema}.${target:I} (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, cancellable, type, payload, headers)
      select d.due_at, d.queue_uid, d.id, d.created_at, d.consumer_id, d.attempt, d.lane, d.key, d.expires_at, d.cancellable, d.type, d.payload, d.headers
        from {schema}.${source:I} d
       where d.ctid = any ($1)
       order by d.due_at, d.seq
    $sql$, jsonb_build_object('target', delayed_table(target), 'source', source)), tids);
    perform move_cancellations(source, delayed_table(target), tids);
    return;
  end if;
  for part in
    select q.id, q.lane_by, array_agg(r.tid) as tids
      from unnest(tids, queue_uids) as r(tid, queue_uid)
      join queue q on q.uid = r.queue_uid
     group by q.id
     order by q.id
  loop
    -- lanes may have been added since a message was sent whose transaction was open then: the lane of a key is found anew
    perform write_rows(render($sql$
      insert into {schema}.message_${queue}_${segment} (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select nextval('{schema}.message_seq_${queue}'), d.id, d.created_at, d.consumer_id, d.attempt, ${lane}, d.key, d.expires_at, d.type, d.payload, d.headers
        from {schema}.${source:I} d
       where d.ctid = any ($1)
       order by d.due_at, d.seq
    $sql$, jsonb_build_object(
      'queue', part.id,
      'segment', pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', part.id)))),
      'source', source,
      'lane', case when part.lane_by = 'key' then format(qualified('{schema}.lane_of_%s(d.key, d.id)'), part.id) else 'd.lane' end
    )), part.tids);
    perform move_cancellations(source, part.id, part.tids);
    perform wake(part.id);
  end loop;
end
$$;

-- Runs a statement that finds its rows by where they lie, and by nothing else: with many queues each of them would read all rows by index.
create function write_rows(statement text, tids tid[]) returns void
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_indexscan = off
set enable_bitmapscan = off
as $$
begin
  execute statement using tids;
end
$$;
