-- Where a consumer has got to: its window, and the position in it. What receive reads for itself, for whoever only looks.
create function cursor_position(
  queue_id int, consumer_id int, out prev pg_snapshot, out next pg_snapshot, out last_txid xid8, out last_seq bigint
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_sort = off
as $$
begin
  execute format($sql$
    select coalesce(b.prev_snapshot, w.prev_snapshot), coalesce(b.next_snapshot, w.next_snapshot), b.last_txid, b.last_seq
      from (select * from batch_%1$s b where b.consumer_id = $1 and b.lane = 0 order by b.n desc limit 1) b
      join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
  $sql$, queue_id) into prev, next, last_txid, last_seq using consumer_id;
end
$$;
