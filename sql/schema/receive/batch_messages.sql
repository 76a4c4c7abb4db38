-- What a batch holds, read again from its window: the messages between its first and its last position that next_snapshot
-- sees and prev_snapshot does not, or of these its rest. Late transactions and the rest of the window are read as receive reads them.
--
-- Neither scan has another condition on txid beside the upper bound (txid, seq) <= (…): on PostgreSQL 17 "txid = x and (txid, seq) <= (y, n)"
-- may return rows of other transactions up to y, those of the batch a second time and others that are not in the window. Its index scan
-- takes a page's last tuple that fails the row comparison by seq for one that meets every condition on txid, and checks none on that page.
create function batch_messages(batch_id bigint) returns table (
  message_id bigint,
  consumer_id int,
  attempt int,
  crashes int,
  lane smallint,
  key text,
  expires_at timestamptz,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz
)
language plpgsql
stable
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  of_queue constant int := batch_queue(batch_id);
  b record;
  -- of a rest, the attempt of each message: looked up by a search, not by comparing it with all
  rest jsonb;
  consumer_name text;
begin
  execute format(qualified($sql$
    select b.*, coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next
      from {schema}.batch_%1$s_%2$s b
      join {schema}.batch_%1$s_%2$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
     where b.id = $1
  $sql$), of_queue, batch_segment(batch_id)) into b using batch_id;
  rest := jsonb_object(b.remainder_ids::text[], b.remainder_attempts::text[]);
  if allows_cancel(of_queue) then
    consumer_name := (select c.name from consumer c where c.id = b.consumer_id);
  end if;
  return query execute format(qualified($sql$
    select m.id, $8, coalesce(($9 ->> m.id::text)::int, m.attempt), case when $9 is null then m.crashes else ($11 ->> m.id::text)::int end, m.lane,
           m.key, m.expires_at, m.type, m.payload, m.headers, m.created_at
      from (
        select m.*
          from pg_snapshot_xip($1) as late(txid)
         cross join lateral (
           select * from {schema}.message_%1$s m
            where m.lane = $7 and m.txid = late.txid
              and m.seq >= case when late.txid = $3 then $4 else 0 end
              and m.seq <= case when late.txid = $5 then $6 else 9223372036854775807 end
         ) m
         where late.txid >= $3 and late.txid <= $5 and pg_visible_in_snapshot(late.txid, $2)
        union all
        select *
          from {schema}.message_%1$s m
         where m.lane = $7
           and (m.txid, m.seq) >= (case when $3 < pg_snapshot_xmax($1) then pg_snapshot_xmax($1) else $3 end,
                                   case when $3 < pg_snapshot_xmax($1) then -1 else $4 end)
           and (m.txid, m.seq) <= ($5, $6)
           and pg_visible_in_snapshot(m.txid, $2)
      ) m
     where (m.consumer_id is null or m.consumer_id = $8)
       and case when $9 is null then m.expires_at is null or m.expires_at > $10 else $9 ? m.id::text end
       %2$s
     order by m.txid, m.seq
  $sql$), of_queue, not_cancelled(of_queue, '$12')) using b.prev, b.next, b.first_txid, b.first_seq, b.last_txid, b.last_seq, b.lane, b.consumer_id, rest, b.created_at,
    jsonb_object(b.remainder_ids::text[], b.remainder_crashes::text[]), consumer_name;
end
$$;
