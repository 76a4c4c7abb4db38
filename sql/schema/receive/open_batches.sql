-- Open batches: received and not finished.
--
-- Batch rows are numbered per (consumer, lane) under the cursor's lock, so when one is visible all before it are. Each says which
-- of those before it may be open: the ones that still_open names and, from settled_before on, any. This is the settled watermark. So a batch that stays
-- open for hours does not make whoever looks for open ones read all that was received since.
--
-- Every batch row has a copy of the watermark, so it names 100 at most. A watermark that names more, up to 10,000, is a batch row of its own, whose consumer
-- is minus the cursor's and whose number is the cursor's when it was written. A watermark that was true once stays true, so whoever looks takes the one
-- that is the latest, and nothing has to be kept in step. Truncation carries it over. Beyond 10,000 it stays where it is.

-- The numbers of the batches of one cursor that are open, before a number.
create function open_numbers(queue_id int, consumer_id int, lane int, watermark settled_watermark, before bigint) returns setof bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  -- two scans: with OR there would be one, from the beginning of the ring. Nothing named, as usual: one, which takes half as long to plan
  return query execute format(qualified($sql$
    select b.batch_no
      from (
        %2$s
        select * from {schema}.batch_%1$s where consumer_id = $1 and lane = $2 and batch_no >= $3 and batch_no < $5
      ) b
     where b.id is not null
       and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
     order by b.batch_no
  $sql$), queue_id, case when (watermark).still_open is not null then format(qualified($sql$
        select * from {schema}.batch_%s where consumer_id = $1 and lane = $2 and batch_no = any ($4)
        union all
  $sql$), queue_id) else '' end) using consumer_id, lane, (watermark).settled_before, (watermark).still_open, before;
end
$$;

-- A cursor's own watermark moves every 64 receives; one that lies further back than that may have another before it.
create function watermark_lags(batch_no bigint, watermark settled_watermark) returns boolean
language sql
immutable
return batch_no - (watermark).settled_before >= 192;

-- The latest watermark of a cursor: its own, in its newest row, batch_no, or that of the row which names more.
create function latest_watermark(queue_id int, consumer_id int, lane int, batch_no bigint, watermark settled_watermark) returns settled_watermark
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  far settled_watermark;
begin
  if watermark_lags(batch_no, watermark) then
    execute format(qualified($sql$
      select b.settled_before, b.still_open from {schema}.batch_%s b where b.consumer_id = -$1 and b.lane = $2 order by b.batch_no desc limit 1
    $sql$), queue_id) into far using consumer_id, lane;
  end if;
  return case when (far).settled_before > (watermark).settled_before then far else watermark end;
end
$$;

-- How many rows a look for open batches reads of one cursor, where it is not to find all: any of those that may be open.
create function open_looked_at() returns int
language sql
immutable
return 1000;

-- The watermark of a cursor that names at most so many, any run of those it names, for a look that is to be short. So each has its turn.
create function part_of_watermark(watermark settled_watermark, at_most int) returns settled_watermark
language sql
volatile
set search_path from current
begin atomic
  select (part_of_watermark.watermark).settled_before, (part_of_watermark.watermark).still_open[f.first : f.first + at_most - 1]
    from (
      select 1 + floor(random() * (greatest(cardinality((part_of_watermark.watermark).still_open) - at_most, 0) + 1))::int as first offset 0
    ) f;
end;

-- The watermark moved on towards the newest row, batch_no. The last 64 rows are left out: most batches are finished a moment after they were
-- received, and need not be named. A receive waits for this under the cursor's lock: so it looks at some 1,000 of those that are named and
-- moves by 1,000 rows at most, however many are open. With more than 100 to name, the row that names them is written and the cursor's own watermark
-- moves to the first of them.
create function move_settled_watermark(queue_id int, consumer_id int, lane int, batch_no bigint, watermark settled_watermark) returns settled_watermark
language plpgsql
volatile
set search_path from current
as $$
declare
  latest constant settled_watermark := latest_watermark(queue_id, consumer_id, lane, batch_no, watermark);
  looked_at constant settled_watermark := part_of_watermark(latest, open_looked_at());
  settled_before constant bigint := greatest((latest).settled_before, least(batch_no - 64, (latest).settled_before + open_looked_at()));
  open constant bigint[] := array(
    select o.batch_no
      from (
        select open_numbers(queue_id, consumer_id, lane, looked_at, settled_before) as batch_no
        union all
        select f.batch_no
          from unnest((latest).still_open) as f(batch_no)
         where f.batch_no < (looked_at).still_open[1] or f.batch_no > (looked_at).still_open[cardinality((looked_at).still_open)]
      ) o
     order by o.batch_no
  );
begin
  if cardinality(open) <= 100 then
    return (settled_before, nullif(open, '{}'))::settled_watermark;
  end if;
  if cardinality(open) <= 10000 then
    execute format(qualified($sql$
      insert into {schema}.batch_%1$s (segment, consumer_id, lane, batch_no, window_batch_no, last_txid, last_seq, messages, settled_before, still_open)
      values ({schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_%1$s')), -$1, $2, $3, $3, '0', -1, 0, $4, $5)
    $sql$), queue_id) using consumer_id, lane, batch_no, settled_before, open;
  end if;
  return (open[1], null)::settled_watermark;
end
$$;

-- The query for the open batches of a queue. One statement for all cursors, not one for each: a queue may have a thousand lanes, and to plan it is most
-- of its cost. $1: the positions of its consumers; $2: as at_most of open_batches. Nothing named, as usual: one scan, which takes half as long to plan.
create function open_batches_query(queue_id int, positions consumer_position[]) returns text
language sql
stable
set search_path from current
return format(qualified($sql$
  select b.id, b.segment::int, c.consumer_id, c.lane::int, b.first_txid, b.first_seq, b.messages, b.worker, b.lease_until, b.waits_until
    from unnest($1) c
   cross join lateral (select case when $2 is null then c.settled else {schema}.part_of_watermark(c.settled, $2) end as line offset 0) l
   cross join lateral (
     select case when $2 is null then 0 else floor(random() * (greatest(c.batch_no - (l.line).settled_before - $2, 0) + 1)) end::bigint as later offset 0
   ) r
   cross join lateral (
     %2$s
     select * from {schema}.batch_%1$s
      where consumer_id = c.consumer_id and lane = c.lane
        and batch_no >= (l.line).settled_before + r.later and batch_no <= (l.line).settled_before + r.later + coalesce($2::bigint, c.batch_no)
   ) b
   where b.id is not null
     and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
$sql$), queue_id, case when exists (select from unnest(positions) as p where (p.settled).still_open is not null) then format(qualified($sql$
     select * from {schema}.batch_%s where consumer_id = c.consumer_id and lane = c.lane and batch_no = any ((l.line).still_open)
     union all
$sql$), queue_id) else '' end);

-- All open batches of a queue, or of one consumer. at_most: some of them, of each cursor so many at most of those that a watermark names, and of
-- those after it. positions: those of the consumers, from a look shortly before.
create function open_batches(queue_id int, of_consumer int default null, at_most int default null, positions consumer_position[] default null) returns table (
  batch_id bigint,
  segment int,
  consumer_id int,
  lane int,
  first_txid xid8,
  first_seq bigint,
  messages int,
  worker text,
  lease_until timestamptz,
  waits_until timestamptz
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  positions := coalesce(positions, consumer_positions(queue_id, of_consumer));
  return query execute open_batches_query(queue_id, positions) using positions, at_most;
end
$$;

-- Whether any batch of a queue, or of one consumer, is open: the first one answers. positions: as for open_batches.
create function has_open_batches(queue_id int, of_consumer int default null, positions consumer_position[] default null) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  has_some boolean;
begin
  positions := coalesce(positions, consumer_positions(queue_id, of_consumer));
  execute format('select exists (%s)', open_batches_query(queue_id, positions)) into has_some using positions, null::int;
  return has_some;
end
$$;
