-- Open batches: received and not finished.
--
-- Batch rows are numbered per (consumer, lane) under the cursor's lock, so when one is visible all before it are. Each says which
-- of those before it may be open: the ones that still_open names and, from settled_before on, any. So a batch that stays open for
-- hours does not make whoever looks for open ones read all that was received since.

-- The numbers of the batches of one cursor that are open, before a number.
create function open_numbers(queue_id int, consumer_id int, lane int, line settled_line, before bigint) returns setof bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  -- two scans: with OR there would be one, from the beginning of the ring
  return query execute format(qualified($sql$
    select b.n
      from (
        select * from {schema}.batch_%1$s where consumer_id = $1 and lane = $2 and n = any ($4)
        union all
        select * from {schema}.batch_%1$s where consumer_id = $1 and lane = $2 and n >= $3 and n < $5
      ) b
     where b.id is not null
       and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
     order by b.n
  $sql$), queue_id) using consumer_id, lane, (line).settled_before, (line).still_open, before;
end
$$;

-- The line moved on towards the newest row, n. The last 64 rows are left out: most batches are finished a moment after they were
-- received, and need not be named. With more than 100 to name it moves to the first of them. A receive waits for this under the cursor's lock: so it
-- moves by 1,000 rows at most, however many are open.
create function move_settled_line(queue_id int, consumer_id int, lane int, n bigint, line settled_line) returns settled_line
language plpgsql
volatile
set search_path from current
as $$
declare
  settled_before constant bigint := greatest((line).settled_before, least(n - 64, (line).settled_before + 1000));
  open constant bigint[] := array(
    select o.n from open_numbers(queue_id, consumer_id, lane, line, settled_before) as o(n) order by o.n
  );
begin
  if cardinality(open) > 100 then
    return (open[1], null)::settled_line;
  end if;
  return (settled_before, nullif(open, '{}'))::settled_line;
end
$$;

-- All open batches of a queue, or of one consumer. One statement for all cursors, not one for each: a queue may have a
-- thousand lanes, and to plan it is most of its cost.
create function open_batches(queue_id int, of_consumer int default null) returns table (
  batch_id bigint,
  segment int,
  consumer_id int,
  lane int,
  first_txid xid8,
  first_seq bigint,
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
  return query execute format(qualified($sql$
    select b.id, b.segment::int, c.consumer_id, c.lane::int, b.first_txid, b.first_seq, b.worker, b.lease_until, b.waits_until
      from {schema}.cursors(%1$s, $1) c
     cross join lateral (
       select * from {schema}.batch_%1$s where consumer_id = c.consumer_id and lane = c.lane and n = any ((c.settled).still_open)
       union all
       select * from {schema}.batch_%1$s where consumer_id = c.consumer_id and lane = c.lane and n >= (c.settled).settled_before
     ) b
     where b.id is not null
       and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
  $sql$), queue_id) using of_consumer;
end
$$;
