-- Where consumers have got to, one row for each lane: the window, and the position in it. What receive reads for itself, for whoever else
-- looks. $1: one consumer's number; null: all that the queue has. source: the table of batches, null for that of all segments.
create function cursors_query(queue_id int, source text default null) returns text
language sql
stable
return format(qualified($sql$
    select c.id as consumer_id, b.lane, b.batch_no, b.segment, coalesce(b.prev_snapshot, w.prev_snapshot) as prev,
           coalesce(b.next_snapshot, w.next_snapshot) as next, b.last_txid, b.last_seq, b.exhausted,
           (b.settled_before, b.still_open)::{schema}.settled_watermark as settled, b.rate_until, b.expired
      from {schema}.consumer c
     cross join generate_series(0, (select q.lanes - 1 from {schema}.queue q where q.id = %1$s)) as l(lane)
     cross join lateral (select * from %2$s b where b.consumer_id = c.id and b.lane = l.lane order by b.batch_no desc limit 1) b
     -- limit: looked up for each cursor, where a join might begin with all batches there are
     cross join lateral (select * from %2$s w where w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no limit 1) w
     where c.queue_id = %1$s and ($1 is null or c.id = $1)
$sql$), queue_id, coalesce(source, format(qualified('{schema}.batch_%s'), queue_id)));

create function cursors(queue_id int, of_consumer int default null) returns table (
  consumer_id int,
  lane smallint,
  batch_no bigint,
  segment smallint,
  prev pg_snapshot,
  next pg_snapshot,
  last_txid xid8,
  last_seq bigint,
  exhausted boolean,
  settled settled_watermark,
  rate_until timestamptz,
  expired bigint
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
begin
  return query execute cursors_query(queue_id) using of_consumer;
end
$$;

-- Where a consumer has got to in a lane, for who looks several times in one call. settled is the latest watermark there is: see receive/open_batches.sql.
create type consumer_position as (
  consumer_id int,
  lane smallint,
  batch_no bigint,
  prev pg_snapshot,
  next pg_snapshot,
  last_txid xid8,
  last_seq bigint,
  settled settled_watermark
);

-- The positions of all consumers of a queue, or of one. The newest row of a cursor is in the current segment, unless nothing was received since the pointer moved: to
-- plan a look into that table alone takes a quarter of the time.
create function consumer_positions(queue_id int, of_consumer int default null) returns consumer_position[]
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id))));
  cursors constant bigint := (select q.lanes * (
    select count(*) from consumer c where c.queue_id = q.id and (of_consumer is null or c.id = of_consumer)
  ) from queue q where q.id = queue_id);
  source text;
  positions consumer_position[];
begin
  foreach source in array array[format(qualified('{schema}.batch_%s_%s'), queue_id, current_segment), format(qualified('{schema}.batch_%s'), queue_id)] loop
    execute format(qualified($sql$
      select array_agg((p.consumer_id, p.lane, p.batch_no, p.prev, p.next, p.last_txid, p.last_seq,
                        case when {schema}.watermark_lags(p.batch_no, p.settled) then {schema}.latest_watermark(%s, p.consumer_id, p.lane, p.batch_no, p.settled) else p.settled end)::{schema}.consumer_position)
        from (%s) p
    $sql$), queue_id, cursors_query(queue_id, source)) into positions using of_consumer;
    exit when cardinality(positions) = cursors;
  end loop;
  return positions;
end
$$;

-- How many entries of the indexes of a table, and of those that inherit from it, this session has read lately: since it last reported its
-- statistics. What an index scan reads is counted at the index, rows that are not visible too.
create function index_entries_read(source regclass) returns bigint
language sql
volatile
set search_path from current
begin atomic
  select coalesce(sum(pg_stat_get_xact_tuples_returned(x.indexrelid)), 0)::bigint
    from pg_index x
   where x.indrelid = index_entries_read.source
      or x.indrelid in (select i.inhrelid from pg_inherits i where i.inhparent = index_entries_read.source);
end;
