-- The plan of the statement with which a plain queue is received from: what receive_1 does when no message is late.
-- Paste it where pgque has a queue 1.
begin;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_hashjoin = off;
set local enable_mergejoin = off;
set local enable_sort = off;
set local plan_cache_mode = force_generic_plan;
set local jit = off;
prepare receive (
  pg_snapshot, -- $1 position.prev_snapshot
  pg_snapshot, -- $2 position.next_snapshot
  bigint, -- $3 position.batch_no
  bigint, -- $4 position.window_batch_no
  int[], -- $5 position.window_segments
  xid8[], -- $6 position.window_mins
  xid8[], -- $7 position.window_maxs
  bigint, -- $8 position.expired
  bigint, -- $9 position.settled_before
  bigint[], -- $10 position.still_open
  text, -- $11 receive_1.worker
  boolean, -- $12 receive_1.tells_begun
  smallint, -- $13 current_segment
  int, -- $14 of_consumer
  boolean, -- $15 keeps_window
  xid8, -- $16 after_txid
  bigint, -- $17 after_seq
  xid8, -- $18 before_txid
  int, -- $19 max_messages
  int, -- $20 max_bytes
  timestamptz, -- $21 started
  interval, -- $22 lease
  timestamptz, -- $23 rate_from
  interval -- $24 rate_step
) as
with window_messages as materialized (
  (
    select m.*
      from pgque.message_1 m
     where m.lane = 0
       and (m.txid, m.seq) > ($16, $17)
       and m.txid < $18
       and pg_visible_in_snapshot(m.txid, $2)
       and (m.consumer_id is null or m.consumer_id = $14)
     order by m.lane, m.txid, m.seq
     limit $19 + 1
  )
),
picked as (
  select array_agg(w.txid) as txids, array_agg(w.seq) as seqs, count(*)::int as seen,
         -- the length of a payload is known without reading it
         -- one more than may be handed out was looked for
         least($19, case
           when $20 is null or coalesce(sum(octet_length(w.payload)), 0) < $20 then count(*)::int
           else pgque.messages_within(array_agg(coalesce(octet_length(w.payload), 0)), $20)
         end) as messages
    from window_messages w
  having count(*) > 0
),
new_batch as (
  insert into pgque.batch_1 (
    segment, consumer_id, lane, batch_no, id, prev_snapshot, next_snapshot, window_batch_no, window_segments, window_mins, window_maxs,
    first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, tells_begun, created_at, lease_until,
    rate_until
  )
  select $13, $14, 0, $3 + 1,
         pgque.make_batch_id(nextval('pgque.batch_seq_1'), 1, $13),
         -- a window is stored once per segment, its further batches refer to it
         case when not $15 then $1 end,
         case when not $15 then $2 end,
         case when $15 then $4 else $3 + 1 end,
         case when not $15 then $5 end,
         case when not $15 then $6 end,
         case when not $15 then $7 end,
         p.txids[1], p.seqs[1], p.txids[p.messages], p.seqs[p.messages], p.messages,
         $8,
         p.seen <= $19 and p.messages = p.seen,
         -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
         (l.line).settled_before, (l.line).still_open, $11, nullif($12, false), $21, clock_timestamp() + $22,
         $23 + p.messages * $24
    from picked p,
         -- offset 0: evaluated once
         (
           select case when $3 % 64 = 0
                    then pgque.move_settled_watermark(1, $14, 0, $3, ($9, $10)::pgque.settled_watermark)
                    else ($9, $10)::pgque.settled_watermark
                  end as line
           offset 0
         ) l
  returning id, lease_until
)
select b.id, m.id, m.attempt::int, m.type, m.payload, m.headers, m.created_at, b.lease_until, null::int, m.key, m.crashes::int
  from (select * from window_messages limit (select p.messages from picked p)) m
 cross join new_batch b;
explain (costs off) execute receive (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
deallocate receive;
rollback;
