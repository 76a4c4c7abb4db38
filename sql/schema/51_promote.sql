-- Promotion: what has become due moves from the delayed tables into the current message segment.
--
-- The promoter is consumer 0, and its newest batch row is its cursor: a snapshot S and a point t in (due_at, seq). A row has
-- been promoted if and only if it is visible in S and at or before t. So the next promotion takes what lies after t up to now,
-- and what lies at or before t but was not yet visible in S: its transaction was open then. S is the snapshot of the very
-- statement that reads, less the own transaction. With nothing due, nothing is written.

-- Promotes up to 10,000 messages of a queue and returns how many. The caller holds the maintenance lock of the queue.
create function promote(queue_id int) returns int
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  position record;
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass));
  started constant timestamptz := clock_timestamp();
  promoted int;
  seen pg_snapshot;
begin
  execute format('select n, next_snapshot, due_at, last_seq from batch_%s where consumer_id = 0 and lane = 0 order by n desc limit 1', queue_id)
    into position;
  execute format($sql$
    with now_seen as materialized (
      select snapshot_now() as snapshot
    ),
    due as materialized (
      (
        select d.*
          from delayed_%1$s d, now_seen s
         where (d.due_at, d.seq) > ($1, $2) and d.due_at <= clock_timestamp() and pg_visible_in_snapshot(d.txid, s.snapshot)
         order by d.due_at, d.seq
         limit 10000
      )
      union all
      (
        select d.*
          from pg_snapshot_xip($3) as late(txid)
         cross join lateral (select * from delayed_%1$s d where d.txid = late.txid and (d.due_at, d.seq) <= ($1, $2)) d, now_seen s
         where pg_visible_in_snapshot(d.txid, s.snapshot)
      )
      union all
      (
        select d.*
          from delayed_%1$s d, now_seen s
         where d.txid >= pg_snapshot_xmax($3) and (d.due_at, d.seq) <= ($1, $2) and pg_visible_in_snapshot(d.txid, s.snapshot)
      )
    ),
    moved as (
      insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, type, payload, headers)
      select nextval('message_seq_%1$s'), id, created_at, consumer_id, attempt, lane, type, payload, headers
        from due
      returning 1
    ),
    point as (
      select due_at, seq from due order by due_at desc, seq desc limit 1
    ),
    new_position as (
      insert into batch_%1$s (segment, consumer_id, n, window_n, next_snapshot, last_txid, last_seq, due_at, messages)
      select %2$s, 0, $4 + 1, $4 + 1, s.snapshot, '0',
             case when (p.due_at, p.seq) > ($1, $2) then p.seq else $2 end,
             case when (p.due_at, p.seq) > ($1, $2) then p.due_at else $1 end,
             0
        from point p, now_seen s
    )
    select (select count(*) from moved), s.snapshot from now_seen s
  $sql$, queue_id, current_segment) into promoted, seen using position.due_at, position.last_seq, position.next_snapshot, position.n;
  -- a look at many rows that came in since S is not paid for again: none of them lies at or before t
  if promoted = 0 and clock_timestamp() - started > interval '10 ms' then
    execute format($sql$
      insert into batch_%1$s (segment, consumer_id, n, window_n, next_snapshot, last_txid, last_seq, due_at, messages)
      values (%2$s, 0, $1 + 1, $1 + 1, $2, '0', $3, $4, 0)
    $sql$, queue_id, current_segment) using position.n, seen, position.last_seq, position.due_at;
  end if;
  return promoted;
end
$$;
