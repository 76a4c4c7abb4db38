CREATE OR REPLACE FUNCTION pgque.consumer_status_1()
 RETURNS TABLE(queue_name text, consumer text, depth bigint, oldest_at timestamp with time zone, in_flight bigint, open_batches integer, received_at timestamp with time zone, received_per_second double precision, expired bigint, paused boolean, estimated boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return query
    select q.name, c.name, sum(w.depth)::bigint, min(w.oldest_at), sum(o.in_flight * o.scale)::bigint, sum(o.open_batches * o.scale)::int,
           max(r.received_at), sum(r.messages / r.seconds)::float8, sum(p.expired)::bigint, c.paused or q.paused,
           bool_or(w.estimated or o.scale > 1)
      from (
        select p.*, case when pgque.watermark_lags(p.batch_no, p.settled) then
                 pgque.latest_watermark(1, p.consumer_id, p.lane, p.batch_no, p.settled)
               else p.settled end as watermark
          from (
            
                select c.id as consumer_id, b.lane, b.batch_no, b.segment, coalesce(b.prev_snapshot, w.prev_snapshot) as prev,
                       coalesce(b.next_snapshot, w.next_snapshot) as next, b.last_txid, b.last_seq, b.exhausted,
                       (b.settled_before, b.still_open)::pgque.settled_watermark as settled, b.rate_until, b.expired
                  from pgque.consumer c
                 cross join generate_series(0, (select q.lanes - 1 from pgque.queue q where q.id = 1)) as l(lane)
                 cross join lateral (select * from pgque.batch_1 b where b.consumer_id = c.id and b.lane = l.lane order by b.batch_no desc limit 1) b
                 -- limit: looked up for each cursor, where a join might begin with all batches there are
                 cross join lateral (select * from pgque.batch_1 w where w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no limit 1) w
                 where c.queue_id = 1 and (null::int is null or c.id = null::int)
            
          ) p
      ) p
      join pgque.consumer c on c.id = p.consumer_id
      join pgque.queue q on q.id = c.queue_id
     cross join lateral (
       select case when m.counted <= 10000 then m.counted
                   else m.counted * greatest(((select l.last_value from pgque.message_seq_1 l) - m.first_seq + 1)::float8 / (m.last_seq - m.first_seq + 1), 1)
                   end as depth,
              m.oldest_at,
              m.counted > 10000 as estimated
         from (
           select count(*) as counted, min(m.created_at) as oldest_at, min(m.seq) as first_seq, max(m.seq) as last_seq
             from (
               select *
                 from (
                   (
                     select m.seq, m.created_at
                       from (select pg_snapshot_xip(p.prev) union select pg_snapshot_xip(p.next)) as late(txid)
                      cross join lateral (select m.seq, m.created_at, m.consumer_id, m.expires_at from pgque.message_1 m where m.lane = p.lane and m.txid = late.txid offset 0) m
                      where not ((late.txid, m.seq) > (case when p.last_txid < pg_snapshot_xmax(p.prev) then pg_snapshot_xmax(p.prev) else p.last_txid end, case when p.last_txid < pg_snapshot_xmax(p.prev) then -1 else p.last_seq end))
                        and not pg_visible_in_snapshot(late.txid, p.prev)
                        and not (pg_visible_in_snapshot(late.txid, p.next) and (late.txid, m.seq) <= (p.last_txid, p.last_seq))
                        and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                        and (m.expires_at is null or m.expires_at > clock_timestamp())
                      limit 10000 + 1
                   )
                   union all
                   (
                     select m.seq, m.created_at
                       from pgque.message_1 m
                      where m.lane = p.lane
                        and (m.txid, m.seq) > (case when p.last_txid < pg_snapshot_xmax(p.prev) then pg_snapshot_xmax(p.prev) else p.last_txid end, case when p.last_txid < pg_snapshot_xmax(p.prev) then -1 else p.last_seq end)
                        and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                        and (m.expires_at is null or m.expires_at > clock_timestamp())
                      order by m.lane, m.txid, m.seq
                      limit 10000 + 1
                   )
                 ) m
                limit 10000 + 1
             ) m
         ) m
     ) w
     cross join lateral (
       select count(*) as open_batches,
              coalesce(sum(b.messages - o.settled) filter (
                where c.mode <> 'ordered' or b.waits_until is null and not pgque.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
              ), 0) as in_flight,
              case when c.mode = 'shared' then greatest(
                (coalesce(cardinality((p.watermark).still_open), 0) + p.batch_no - (p.watermark).settled_before + 1)::float8 / 1000, 1
              ) else 1 end as scale
         from (
           (
             select b.id, b.segment, b.messages, b.worker, b.lease_until, b.waits_until
               from pgque.batch_1 b
              where b.consumer_id = p.consumer_id and b.lane = p.lane and b.batch_no = any ((p.watermark).still_open[:1000])
           )
           union all
           (
             select b.id, b.segment, b.messages, b.worker, b.lease_until, b.waits_until
               from pgque.batch_1 b
              where b.consumer_id = p.consumer_id and b.lane = p.lane and b.batch_no >= (p.watermark).settled_before
              order by b.batch_no desc
              limit greatest(1000 - coalesce(cardinality((p.watermark).still_open), 0), 0)
           )
         ) b
        cross join lateral (
          select coalesce(bool_or(o.final), false) as final, coalesce(sum(cardinality(o.message_ids)), 0) as settled
            from pgque.outcome_1 o
           where o.segment = b.segment and o.batch_id = b.id
        ) o
        where b.id is not null and not o.final
     ) o
     cross join lateral (
       select max(b.created_at) as received_at,
              coalesce(sum(b.messages) filter (where b.created_at > clock_timestamp() - interval '1 min'), 0) as messages,
              case when count(*) < 100 then 60
                   else least(greatest(extract(epoch from clock_timestamp() - min(b.created_at)), 0.001), 60) end as seconds
         from (
           select b.created_at, b.messages
             from pgque.batch_1 b
            where b.consumer_id = p.consumer_id and b.lane = p.lane and b.id is not null
            order by b.batch_no desc
            limit 100
         ) b
     ) r
     group by q.id, c.id
     order by c.name;
end
$function$;
