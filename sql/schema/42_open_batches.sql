-- Open batches: received and not finished.
--
-- Batch rows are numbered per (consumer, lane) under the cursor's lock, so when one is visible all before it are. Each
-- carries settled_before: every batch before that number is finished. Looking for open ones starts there and not at the
-- beginning of the ring.

-- The first open batch of a cursor at or after a number that is known to be settled; the next number when none is open.
create function first_open_batch(queue_id int, consumer_id int, lane int, settled_before bigint) returns bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  first_open bigint;
begin
  execute format($sql$
    select coalesce(
      (
        select b.n
          from batch_%1$s b
         where b.consumer_id = $1 and b.lane = $2 and b.n >= $3
           and b.id is not null
           and not exists (select from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
         order by b.n
         limit 1
      ),
      (select b.n + 1 from batch_%1$s b where b.consumer_id = $1 and b.lane = $2 order by b.n desc limit 1)
    )
  $sql$, queue_id) into first_open using consumer_id, lane, settled_before;
  return first_open;
end
$$;

-- All open batches of a queue, whoever's.
create function open_batches(queue_id int) returns table (
  batch_id bigint,
  segment int,
  consumer_id int,
  lane int,
  first_txid xid8,
  first_seq bigint,
  worker text,
  lease_until timestamptz
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
  return query execute format($sql$
    select b.id, b.segment::int, b.consumer_id, b.lane::int, b.first_txid, b.first_seq, b.worker, b.lease_until
      from consumer c
     cross join lateral (
       select newest.lane, newest.settled_before
         from batch_%1$s newest
        where newest.consumer_id = c.id and newest.lane = 0
        order by newest.n desc
        limit 1
     ) cursor_at
     cross join lateral (
       select *
         from batch_%1$s b
        where b.consumer_id = c.id and b.lane = cursor_at.lane and b.n >= cursor_at.settled_before
          and b.id is not null
          and not exists (select from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
     ) b
     where c.queue_id = %1$s
  $sql$, queue_id);
end
$$;
