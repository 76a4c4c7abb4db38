-- What consumers have before them and in their hands. Producers steer by it, in a loop, so that it costs the same whatever is waiting: messages are
-- counted up to 10,000, open batches up to 1,000, and what is beyond is estimated.
--
-- Each figure is a statement of its own for all cursors of a queue. In one statement they would take twice as long to plan, which is most of
-- the cost; as statements of the queue's generated functions their plans would take memory in every session. A queue that has caught up has all
-- that it keeps in one segment, and then the statements name the tables of that segment: to plan for the whole ring takes three times as long.

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
as $$
declare
  of_queue record;
  places consumer_place[];
  only_segment text;
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  for of_queue in
    select q.id, q.name, q.paused
      from queue q
     where (consumer_status.queue is null or q.name = consumer_status.queue)
       and exists (select from consumer c where c.queue_id = q.id)
     order by q.name
  loop
    places := consumer_places(of_queue.id);
    only_segment := only_filled_segment(of_queue.id);
    return query
      select of_queue.name, c.name, coalesce(w.depth, 0), w.oldest_at, coalesce(o.in_flight, 0), coalesce(o.open_batches, 0), r.received_at,
             coalesce(r.per_second, 0), coalesce(r.expired, 0), c.paused or of_queue.paused, coalesce(w.estimated or o.estimated, false)
        from consumer c
        left join waiting_messages(of_queue.id, places, only_segment) w on w.consumer_id = c.id
        left join messages_in_flight(of_queue.id, places, only_segment) o on o.consumer_id = c.id
        left join latest_receives(of_queue.id, places, only_segment) r on r.consumer_id = c.id
       where c.queue_id = of_queue.id
       order by c.name;
  end loop;
end
$$;

-- The number of the current segment, when all others are empty, as what its tables are named after. Null: they are not.
create function only_filled_segment(queue_id int) returns text
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id))));
begin
  for segment in 0 .. segment_count(queue_id) - 1 loop
    if segment <> current_segment
       and pg_relation_size(relation(format('message_%s_%s', queue_id, segment))) + pg_relation_size(relation(format('batch_%s_%s', queue_id, segment))) > 0 then
      return null;
    end if;
  end loop;
  return current_segment::text;
end
$$;

-- How many rows are counted of each lane, if so many are of all.
create function counted_of_lane(queue_id int, counted int) returns int
language plpgsql
stable
set search_path from current
as $$
begin
  return (select greatest(counted / q.lanes, 10) from queue q where q.id = queue_id);
end
$$;

-- The messages that can be received: those of transactions that were open when a snapshot of the window was taken, then those after the
-- place. Of what is not counted it is taken that so many of the values of the sequence are the consumer's as of what is.
create function waiting_messages(queue_id int, places consumer_place[], only_segment text) returns table (
  consumer_id int, depth bigint, oldest_at timestamptz, estimated boolean
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  messages constant text := concat_ws('_', 'message', queue_id, only_segment);
  after constant text := range_start('p', 'p.prev');
  late_messages constant text := render($sql$
           (
             select m.seq, m.created_at
               from (select pg_snapshot_xip(p.prev) union select pg_snapshot_xip(p.next)) as late(txid)
              cross join lateral (select * from {schema}.${messages:I} m where m.lane = p.lane and m.txid = late.txid offset 0) m
              where not ((late.txid, m.seq) > ${range_start})
                and not pg_visible_in_snapshot(late.txid, p.prev)
                and not (pg_visible_in_snapshot(late.txid, p.next) and (late.txid, m.seq) <= (p.last_txid, p.last_seq))
                and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                and (m.expires_at is null or m.expires_at > clock_timestamp())
              limit $2 + 1
           )
           union all
  $sql$, jsonb_build_object('messages', messages, 'range_start', after));
  is_late constant boolean := exists (
    select from unnest(places) as p where pg_snapshot_xmin(p.prev) < pg_snapshot_xmax(p.prev) or pg_snapshot_xmin(p.next) < pg_snapshot_xmax(p.next)
  );
begin
  return query execute render($sql$
    select p.consumer_id,
           sum(case when w.counted <= $2 then w.counted
                    else w.counted * greatest((l.last_value - w.first_seq + 1)::float8 / (w.last_seq - w.first_seq + 1), 1) end)::bigint,
           min(w.oldest_at),
           bool_or(w.counted > $2)
      from unnest($1) as p
     cross join {schema}.message_seq_${queue} l
     cross join lateral (
       select count(*) as counted, min(m.created_at) as oldest_at, min(m.seq) as first_seq, max(m.seq) as last_seq
         from (select * from (
           ${late_messages}
           (
             select m.seq, m.created_at
               from {schema}.${messages:I} m
              where m.lane = p.lane
                and (m.txid, m.seq) > ${range_start}
                and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                and (m.expires_at is null or m.expires_at > clock_timestamp())
              order by m.lane, m.txid, m.seq
              limit $2 + 1
           )
         ) m limit $2 + 1) m
     ) w
     group by p.consumer_id
  $sql$, jsonb_build_object(
    'queue', queue_id,
    'range_start', after,
    'late_messages', case when is_late then late_messages else '' end,
    'messages', messages
  )) using places, counted_of_lane(queue_id, 10000);
end
$$;

-- The open batches, and the messages in them that are not settled. Not those of an ordered consumer whose batch waits, or may be handed out
-- again: these are in nobody's hands. Of the batches that are not looked at it is taken that as many are open.
create function messages_in_flight(queue_id int, places consumer_place[], only_segment text) returns table (
  consumer_id int, in_flight bigint, open_batches int, estimated boolean
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  batches constant text := concat_ws('_', 'batch', queue_id, only_segment);
  -- there are none, as a rule
  of_still_open constant text := case when exists (select from unnest(places) as p where (p.settled).still_open is not null) then render($sql$
           (select * from {schema}.${batches:I} b where b.consumer_id = p.consumer_id and b.lane = p.lane and b.batch_no = any ((p.settled).still_open[:$2]))
           union all
  $sql$, jsonb_build_object('batches', batches)) else '' end;
begin
  return query execute render($sql$
    select p.consumer_id, sum(o.in_flight * r.whole)::bigint, sum(o.open_batches * r.whole)::int, bool_or(r.whole > 1)
      from unnest($1) as p
      join {schema}.consumer c on c.id = p.consumer_id
     cross join lateral (
       select count(*) as open_batches,
              coalesce(sum(b.messages - o.settled) filter (
                where c.mode <> 'ordered' or b.waits_until is null and not {schema}.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
              ), 0) as in_flight
         from (
           ${still_open}
           (
             select * from {schema}.${batches:I} b
              where b.consumer_id = p.consumer_id and b.lane = p.lane and b.batch_no >= (p.settled).settled_before
              order by b.batch_no
              limit greatest($2 - coalesce(cardinality((p.settled).still_open), 0), 0)
           )
         ) b
        cross join lateral (
          select coalesce(bool_or(o.final), false) as final, coalesce(sum(cardinality(o.message_ids)), 0) as settled
            from {schema}.${outcomes:I} o
           where o.segment = b.segment and o.batch_id = b.id
        ) o
        where b.id is not null and not o.final
     ) o
     cross join lateral (
       select greatest((coalesce(cardinality((p.settled).still_open), 0) + p.batch_no - (p.settled).settled_before + 1)::float8 / $2, 1) as whole
     ) r
     group by p.consumer_id
  $sql$, jsonb_build_object(
    'still_open', of_still_open,
    'batches', batches,
    'outcomes', concat_ws('_', 'outcome', queue_id, only_segment)
  )) using places, counted_of_lane(queue_id, 1000);
end
$$;

create function latest_receives(queue_id int, places consumer_place[], only_segment text) returns table (
  consumer_id int, received_at timestamptz, per_second float8, expired bigint
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query execute format(qualified($sql$
    select p.consumer_id, max(r.received_at), sum(r.messages / r.seconds)::float8, sum(p.expired)::bigint
      from unnest($1) as p
     cross join lateral (
       select max(b.created_at) as received_at,
              coalesce(sum(b.messages) filter (where b.created_at > clock_timestamp() - interval '1 min'), 0) as messages,
              case when count(*) < $2 then 60
                   else least(greatest(extract(epoch from clock_timestamp() - min(b.created_at)), 0.001), 60) end as seconds
         from (
           select b.created_at, b.messages
             from {schema}.%I b
            where b.consumer_id = p.consumer_id and b.lane = p.lane and b.id is not null
            order by b.batch_no desc
            limit $2
         ) b
     ) r
     group by p.consumer_id
  $sql$), concat_ws('_', 'batch', queue_id, only_segment)) using places, 100;
end
$$;
