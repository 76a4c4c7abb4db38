-- Receiving from a queue with lanes. A batch comes from one lane. Which lanes have something is found out in one statement, a few index
-- probes for each; then they are tried in turn:
--   priority  the highest first; with low_priority_every, now and then the lowest
--   key       round robin, so that none is starved
-- The cursors of one consumer share one lock: a lock each would let two workers wait for each other.

-- Fragment: the query for the lanes of a consumer that may have something to receive, in the order in which they are to be tried. Of an ordered
-- consumer, those without an open batch, or with one that is to be handed out again.
-- Reads: of_consumer, consumer_mode, per_key.
create function lanes_to_try(queue_id int) returns text
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
  takes_turns boolean;
begin
  select * into settings from queue q where q.id = queue_id;
  takes_turns := settings.lane_by = 'key' or settings.low_priority_every is not null;
  return render($sql$
    select array_agg(b.lane order by ${turn})
      from (
        select b.*${batches}
          from generate_series(0, ${last_lane}) as l(lane)
         cross join lateral (select * from {schema}.batch_${queue} b where b.consumer_id = of_consumer and b.lane = l.lane order by b.batch_no desc limit 1) b
      ) b
      join {schema}.batch_${queue} w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
     cross join lateral (select coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next) s
     cross join lateral (
       select consumer_mode = 'ordered' and b.id is not null
          and not exists (select from {schema}.outcome_${queue} o where o.segment = b.segment and o.batch_id = b.id and o.final) as open
     ) o
     where case when o.open then {schema}.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
             else exists (
               -- with so many retries of others in front, the lane is tried to move its cursor past them
               select from (
                 select m.consumer_id, row_number() over () as number
                   from {schema}.message_${queue} m
                  where m.lane = b.lane
                    and (m.txid, m.seq) > ${range_start}
                  limit 1000
               ) m
                where m.consumer_id is null or m.consumer_id = of_consumer or m.number = 1000
             ) or exists (
               select from (select pg_snapshot_xip(s.prev) union select pg_snapshot_xip(s.next)) as late(txid)
                 join {schema}.message_${queue} m on m.lane = b.lane and m.txid = late.txid
                where (m.consumer_id is null or m.consumer_id = of_consumer)
                  and not (pg_visible_in_snapshot(m.txid, s.next) and (m.txid, m.seq) <= (b.last_txid, b.last_seq))
                  and not pg_visible_in_snapshot(m.txid, s.prev)
             )
           end${and_limit}
  $sql$, jsonb_build_object(
    'queue', queue_id,
    'last_lane', settings.lanes - 1,
    'turn', case
      when settings.lane_by = 'key' then replace('(b.lane + <lanes> - b.batches % <lanes>) % <lanes>', '<lanes>', settings.lanes::text)
      when takes_turns then format('case when nullif(b.batches, 0) %% %s = 0 then b.lane else -b.lane end', settings.low_priority_every)
      else '-b.lane'
    end,
    -- counted for each consumer: by the queue's batches, of two that take turns one would always have a lane and the other never
    'batches', case when takes_turns then ', (sum(b.batch_no - 1) over ())::bigint as batches' else '' end,
    'range_start', range_start('b', 's.prev'),
    'and_limit', case when settings.lane_by = 'key' then E'\n' || within_limit(queue_id) else '' end
  ));
end
$generate$;

-- Part of a template: the statements that receive from the lanes of a queue, and return from the function when there was something. statements: those
-- that receive from one.
create function receive_lanes(statements text) returns text
language sql
immutable
return $lanes$
  lanes := (
    ${lanes_to_try}
  );
  foreach from_lane in array coalesce(lanes, '{}') loop
    if consumer_mode = 'ordered' and ({schema}.open_batch_of_lane(${queue}, of_consumer, from_lane)).batch_id is not null then
      return query select * from {schema}.receive_rest(${queue}, of_consumer, from_lane, worker, lease, reports_started);
      if found then
        return;
      end if;
      -- nothing was left of it, or somebody is just settling it
      continue when ({schema}.open_batch_of_lane(${queue}, of_consumer, from_lane)).batch_id is not null;
    end if;
    ${limit_by_key}
    -- a limit is reached, which holds up no rest: it was received before
    continue when max_messages = 0;
    expired := 0;
    ${forget_passed}$lanes$ || indent(statements, 2) || $lanes$
  end loop;$lanes$;
