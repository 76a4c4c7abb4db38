-- What consumers have before them and in their hands. Producers steer by it, in a loop, so that it costs the same whatever is waiting: messages are
-- counted up to 10,000, open batches up to 1,000, and what is beyond is estimated.
--
-- Each queue has a function for it, whose one statement is planned once a session: to plan it takes ten times as long as to run it. A session keeps
-- half a megabyte of plans for each queue; so with many queues, who asks for all has the statements planned anew.

-- One row a consumer. depth: messages that can be received; oldest_at: when the oldest of them was sent. in_flight: received and not settled, in
-- so many open batches. estimated: these figures go on from a count of 10,000 messages, or 1,000 batches, that was as far as it was counted.
-- received_at: the last receive that found something. received_per_second: in the last minute, or in the last 100 receives of each lane.
-- expired: passed over because they had, since the consumer subscribed.
create function consumer_status(queue text default null) returns table (
  queue_name text,
  consumer text,
  depth bigint,
  oldest_at timestamptz,
  in_flight bigint,
  open_batches int,
  received_at timestamptz,
  received_per_second float8,
  expired bigint,
  paused boolean,
  estimated boolean
)
language plpgsql
volatile
security definer
set search_path from current
-- the list of queues would be planned anew for the one that is named
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  keeps_plans constant boolean := queue is not null or (select count(*) from queue) <= 50;
  of_queue int;
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  for of_queue in
    select q.id
      from queue q
     where (consumer_status.queue is null or q.name = consumer_status.queue)
       and exists (select from consumer c where c.queue_id = q.id)
     order by q.name
  loop
    return query execute case when keeps_plans then format(qualified('select * from {schema}.consumer_status_%s()'), of_queue)
                              else consumer_status_query(of_queue) end;
  end loop;
end
$$;

-- Writes consumer_status_<queue id>.
create function generate_consumer_status(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
begin
  perform write_queue_function(
    concat_ws('_', 'consumer_status', queue_id),
    '',
    pg_get_function_result('consumer_status'::regproc),
    E'set enable_seqscan = off\nset enable_bitmapscan = off\nset enable_sort = off\nset jit = off\nset plan_cache_mode = force_generic_plan',
    render($body$
begin
  return query
    ${consumers};
end
    $body$, jsonb_build_object('consumers', consumer_status_query(queue_id)))
  );
end
$generate$;

-- The consumers of one queue. The parts see one cursor each, p, and count so many rows of each lane that all lanes have 10,000, or 1,000.
create function consumer_status_query(queue_id int) returns text
language plpgsql
stable
set search_path from current
as $generate$
declare
  lanes constant int := (select q.lanes from queue q where q.id = queue_id);
begin
  return render($sql$
    select q.name, c.name, sum(w.depth)::bigint, min(w.oldest_at), sum(o.in_flight * o.scale)::bigint, sum(o.open_batches * o.scale)::int,
           max(r.received_at), sum(r.messages / r.seconds)::float8, sum(p.expired)::bigint, c.paused or q.paused,
           bool_or(w.estimated or o.scale > 1)
      from (
        select p.*, case when {schema}.watermark_lags(p.batch_no, p.settled) then
                 {schema}.latest_watermark(${queue}, p.consumer_id, p.lane, p.batch_no, p.settled)
               else p.settled end as watermark
          from (
            ${cursors}
          ) p
      ) p
      join {schema}.consumer c on c.id = p.consumer_id
      join {schema}.queue q on q.id = c.queue_id
     cross join lateral (
       ${waiting}
     ) w
     cross join lateral (
       ${in_flight}
     ) o
     cross join lateral (
       ${latest_receives}
     ) r
     group by q.id, c.id
     order by c.name
  $sql$, jsonb_build_object(
    'queue', queue_id,
    'cursors', replace(cursors_query(queue_id), '$1', 'null::int'),
    'waiting', waiting_messages_query(queue_id, greatest(10000 / lanes, 10)),
    'in_flight', in_flight_query(queue_id, greatest(1000 / lanes, case when lanes <= 16 then 200 else 10 end)),
    'latest_receives', latest_receives_query(queue_id)
  ));
end
$generate$;

-- The messages that can be received: those of transactions that were open when a snapshot of the window was taken, then those after the
-- position. Of what is not counted it is taken that so many of the values of the sequence are the consumer's as of what is.
create function waiting_messages_query(queue_id int, counted int) returns text
language sql
stable
set search_path from current
return render($sql$
  select case when m.counted <= ${counted} then m.counted
              else m.counted * greatest(((select l.last_value from {schema}.message_seq_${queue} l) - m.first_seq + 1)::float8 / (m.last_seq - m.first_seq + 1), 1)
              end as depth,
         m.oldest_at,
         m.counted > ${counted} as estimated
    from (
      select count(*) as counted, min(m.created_at) as oldest_at, min(m.seq) as first_seq, max(m.seq) as last_seq
        from (
          select *
            from (
              (
                select m.seq, m.created_at
                  from (select pg_snapshot_xip(p.prev) union select pg_snapshot_xip(p.next)) as late(txid)
                 cross join lateral (select ${id}m.seq, m.created_at, m.consumer_id, m.expires_at from {schema}.message_${queue} m where m.lane = p.lane and m.txid = late.txid offset 0) m
                 where not ((late.txid, m.seq) > ${range_start})
                   and not pg_visible_in_snapshot(late.txid, p.prev)
                   and not (pg_visible_in_snapshot(late.txid, p.next) and (late.txid, m.seq) <= (p.last_txid, p.last_seq))
                   and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                   and (m.expires_at is null or m.expires_at > clock_timestamp())
                   ${and_not_cancelled}
                 limit ${counted} + 1
              )
              union all
              (
                select m.seq, m.created_at
                  from {schema}.message_${queue} m
                 where m.lane = p.lane
                   and (m.txid, m.seq) > ${range_start}
                   and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                   and (m.expires_at is null or m.expires_at > clock_timestamp())
                   ${and_not_cancelled}
                 order by m.lane, m.txid, m.seq
                 limit ${counted} + 1
              )
            ) m
           limit ${counted} + 1
        ) m
    ) m
$sql$, jsonb_build_object(
  'queue', queue_id, 'counted', counted, 'range_start', range_start('p', 'p.prev'), 'and_not_cancelled', not_cancelled(queue_id, 'c.name'),
  'id', case when allows_cancel(queue_id) then 'm.id, ' else '' end
));

-- The open batches, and the messages in them that are not settled. Not those of an ordered consumer whose batch waits, or may be handed out
-- again: these are in nobody's hands. Of the batches that are not looked at it is taken that as many are open. The newest are looked at
-- first: the watermark lags by up to 192 batches, nearly all of them finished. A lane of an ordered consumer has one open batch at most, the newest.
create function in_flight_query(queue_id int, counted int) returns text
language sql
stable
set search_path from current
return render($sql$
  select count(*) as open_batches,
         coalesce(sum(b.messages - o.settled) filter (
           where c.mode <> 'ordered' or b.waits_until is null and not {schema}.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
         ), 0) as in_flight,
         case when c.mode = 'shared' then greatest(
           (coalesce(cardinality((p.watermark).still_open), 0) + p.batch_no - (p.watermark).settled_before + 1)::float8 / ${counted}, 1
         ) else 1 end as scale
    from (
      (
        select b.id, b.segment, b.messages, b.worker, b.lease_until, b.waits_until
          from {schema}.batch_${queue} b
         where b.consumer_id = p.consumer_id and b.lane = p.lane and b.batch_no = any ((p.watermark).still_open[:${counted}])
      )
      union all
      (
        select b.id, b.segment, b.messages, b.worker, b.lease_until, b.waits_until
          from {schema}.batch_${queue} b
         where b.consumer_id = p.consumer_id and b.lane = p.lane and b.batch_no >= (p.watermark).settled_before
         order by b.batch_no desc
         limit greatest(${counted} - coalesce(cardinality((p.watermark).still_open), 0), 0)
      )
    ) b
   cross join lateral (
     select coalesce(bool_or(o.final), false) as final, coalesce(sum(cardinality(o.message_ids)), 0) as settled
       from {schema}.outcome_${queue} o
      where o.segment = b.segment and o.batch_id = b.id
   ) o
   where b.id is not null and not o.final
$sql$, jsonb_build_object('queue', queue_id, 'counted', counted));

-- When a cursor last received, and how many messages in how many seconds.
create function latest_receives_query(queue_id int) returns text
language sql
stable
set search_path from current
return render($sql$
  select max(b.created_at) as received_at,
         coalesce(sum(b.messages) filter (where b.created_at > clock_timestamp() - interval '1 min'), 0) as messages,
         case when count(*) < 100 then 60
              else least(greatest(extract(epoch from clock_timestamp() - min(b.created_at)), 0.001), 60) end as seconds
    from (
      select b.created_at, b.messages
        from {schema}.batch_${queue} b
       where b.consumer_id = p.consumer_id and b.lane = p.lane and b.id is not null
       order by b.batch_no desc
       limit 100
    ) b
$sql$, jsonb_build_object('queue', queue_id));
