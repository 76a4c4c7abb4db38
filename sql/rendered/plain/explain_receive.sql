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
  pg_snapshot, -- $1 position.next_snapshot
  int, -- $2 of_consumer
  xid8, -- $3 after_txid
  bigint, -- $4 after_seq
  xid8, -- $5 before_txid
  int -- $6 max_messages
) as
(
  select m.*
    from pgque.message_1 m
   where m.lane = 0
     and (m.txid, m.seq) > ($3, $4)
     and m.txid < $5
     and pg_visible_in_snapshot(m.txid, $1)
     and (m.consumer_id is null or m.consumer_id = $2)
   order by m.lane, m.txid, m.seq
   limit $6 + 1
);
explain (costs off) execute receive (null, null, null, null, null, null);
deallocate receive;
rollback;
