-- Receiving from a queue with lanes. A batch comes from one lane. Which lanes have something is found out in one statement, a few index
-- probes for each; then they are tried in turn:
--   priority  the highest first; with low_priority_every, now and then the lowest
--   key       round robin, so that none is starved
-- The cursors of one consumer share one lock: a lock each would let two workers wait for each other.

-- The lanes of a consumer that may have something to receive, in the order in which they are to be tried. Of an ordered consumer, those
-- without an open batch, or with one that is to be handed out again.
create function lanes_to_try(queue_id int) returns text
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  return format(qualified($sql$
    select array_agg(b.lane order by %3$s)
      from (
        select b.*%5$s
          from generate_series(0, %2$s) as l(lane)
         cross join lateral (select * from {schema}.batch_%1$s b where b.consumer_id = reader and b.lane = l.lane order by b.n desc limit 1) b
      ) b
      join {schema}.batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
     cross join lateral (select coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next) s
     cross join lateral (
       select reader_mode = 'ordered' and b.id is not null
          and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final) as open
     ) o
     where case when o.open then {schema}.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
             else exists (
               -- with so many retries of others in front, the lane is tried to move its cursor past them
               select from (
                 select m.consumer_id, row_number() over () as number
                   from {schema}.message_%1$s m
                  where m.lane = b.lane
                    and (m.txid, m.seq) > %4$s
                  limit 1000
               ) m
                where m.consumer_id is null or m.consumer_id = reader or m.number = 1000
             ) or exists (
               select from (select pg_snapshot_xip(s.prev) union select pg_snapshot_xip(s.next)) as late(txid)
                 join {schema}.message_%1$s m on m.lane = b.lane and m.txid = late.txid
                where (m.consumer_id is null or m.consumer_id = reader)
                  and not (pg_visible_in_snapshot(m.txid, s.next) and (m.txid, m.seq) <= (b.last_txid, b.last_seq))
                  and not pg_visible_in_snapshot(m.txid, s.prev)
             )
           end
  $sql$), queue_id, settings.lanes - 1,
    case
      when settings.lane_by = 'key' then format('(b.lane + %1$s - b.batches %% %1$s) %% %1$s', settings.lanes)
      when settings.low_priority_every is not null then format('case when nullif(b.batches, 0) %% %s = 0 then b.lane else -b.lane end', settings.low_priority_every)
      else '-b.lane'
    end,
    range_start('b', 's.prev'),
    -- counted for each consumer: by the queue's batches, of two that take turns one would always have a lane and the other never
    case when settings.lane_by = 'key' or settings.low_priority_every is not null then ', (sum(b.n - 1) over ())::bigint as batches' else '' end);
end
$generate$;

-- The statements that receive from the lanes of a queue, and return from the function when there was something.
create function receive_lanes(queue_id int) returns text
language plpgsql
set search_path from current
as $generate$
begin
  return format(qualified($lanes$
  lanes := (
    %2$s
  );
  foreach from_lane in array coalesce(lanes, '{}') loop
    if reader_mode = 'ordered' and ({schema}.open_batch_of_lane(%1$s, reader, from_lane)).batch_id is not null then
      return query select * from {schema}.receive_rest(%1$s, reader, from_lane, worker, lease, tells_begun);
      if found then
        return;
      end if;
      -- nothing was left of it, or somebody is just settling it
      continue when ({schema}.open_batch_of_lane(%1$s, reader, from_lane)).batch_id is not null;
    end if;
    -- a limit is reached, which holds up no rest: it was received before
    continue when max_messages = 0;
    expired := 0;
    %3$s
  end loop;
$lanes$), queue_id, lanes_to_try(queue_id), receive_lane(queue_id, 'from_lane'));
end
$generate$;
