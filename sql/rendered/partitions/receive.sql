CREATE OR REPLACE FUNCTION pgque.receive_1(consumer text, worker text, max_messages integer, lease interval, max_bytes integer, reports_started boolean)
 RETURNS SETOF pgque.received_message
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
AS $function$
declare
  of_consumer int;
  consumer_mode text;
  is_paused boolean;
  has_limits boolean;
  is_locked boolean;
  nothing_open boolean;
  position record;
  current_segment smallint;
  started timestamptz;
  expired bigint := 0;
  rate_from timestamptz;
  rate_step interval;
  limits record;
  is_there boolean;
  keeps_window boolean;
  is_among_late boolean;
  after_txid xid8;
  after_seq bigint;
  before_txid xid8;
  from_txid xid8;
  part record;
  lanes int[];
  from_lane int;
  per_key int;
  open_before bigint[];
  message record;
  seen int := 0;
  messages int := 0;
  bytes bigint := 0;
  batch_id bigint;
  lease_until timestamptz;
  first_txid xid8;
  first_seq bigint;
  last_txid xid8;
  last_seq bigint;
begin
  -- what is wrong is said by functions; to call them when nothing is would cost an empty poll a third of its time
  if current_setting('transaction_isolation') <> 'read committed' or pgque.cluster_changed() then
    perform pgque.require_same_cluster();
    perform pgque.require_read_committed('receive');
  end if;
  if (max_messages between 1 and 100000 and lease > '0' and lease <= '7 days' and coalesce(max_bytes, 1) > 0) is not true then
    perform pgque.check_receive(max_messages, lease, max_bytes);
  end if;
  lock table only pgque.batch_1 in row exclusive mode;
  select c.id, c.mode, c.paused, coalesce(c.max_in_flight, c.rate_limit, c.max_in_flight_per_key) is not null as has_limits,
         pg_advisory_xact_lock(hashint8extended(c.id::bigint << 16, 372648738588768809)) is not null as is_locked
    into of_consumer, consumer_mode, is_paused, has_limits, is_locked
    from pgque.consumer c where c.queue_id = 1 and c.name = receive_1.consumer;
  if of_consumer is null then
    perform pgque.require_consumer(1, consumer);
  end if;
  if is_paused then
    return;
  end if;
  if consumer_mode = 'exclusive' then
    if nothing_open is not true then
      return query select * from pgque.receive_open_batch(1, of_consumer, worker, lease, reports_started);
      if found then
        return;
      end if;
      -- not when somebody is just finishing one
      nothing_open := not pgque.has_open_batches(1, of_consumer);
    end if;
  end if;
  if has_limits then
    limits := pgque.receive_limits(1, of_consumer, max_messages);
    max_messages := limits.allowed;
    rate_from := limits.rate_from;
    rate_step := limits.rate_step;
    per_key := limits.per_key;
    if max_messages = 0 and consumer_mode <> 'ordered' then
      return;
    end if;
  end if;
  lanes := (
    select array_agg(b.lane order by (b.lane + 16 - b.batches % 16) % 16)
      from (
        select b.*, (sum(b.batch_no - 1) over ())::bigint as batches
          from generate_series(0, 15) as l(lane)
         cross join lateral (select * from pgque.batch_1 b where b.consumer_id = of_consumer and b.lane = l.lane order by b.batch_no desc limit 1) b
      ) b
      join pgque.batch_1 w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
     cross join lateral (select coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next) s
     cross join lateral (
       select consumer_mode = 'ordered' and b.id is not null
          and not exists (select from pgque.outcome_1 o where o.segment = b.segment and o.batch_id = b.id and o.final) as open
     ) o
     where case when o.open then pgque.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
             else exists (
               -- with so many retries of others in front, the lane is tried to move its cursor past them
               select from (
                 select m.consumer_id, row_number() over () as number
                   from pgque.message_1 m
                  where m.lane = b.lane
                    and (m.txid, m.seq) > (case when b.last_txid < pg_snapshot_xmax(s.prev) then pg_snapshot_xmax(s.prev) else b.last_txid end, case when b.last_txid < pg_snapshot_xmax(s.prev) then -1 else b.last_seq end)
                  limit 1000
               ) m
                where m.consumer_id is null or m.consumer_id = of_consumer or m.number = 1000
             ) or exists (
               select from (select pg_snapshot_xip(s.prev) union select pg_snapshot_xip(s.next)) as late(txid)
                 join pgque.message_1 m on m.lane = b.lane and m.txid = late.txid
                where (m.consumer_id is null or m.consumer_id = of_consumer)
                  and not (pg_visible_in_snapshot(m.txid, s.next) and (m.txid, m.seq) <= (b.last_txid, b.last_seq))
                  and not pg_visible_in_snapshot(m.txid, s.prev)
             )
           end
    and (
      per_key is null
      or per_key > (
        select coalesce(sum(o.unsettled), 0)
          from (
            select * from pgque.batch_1 o where o.consumer_id = of_consumer and o.lane = b.lane and o.batch_no = any (b.still_open)
            union all
            select * from pgque.batch_1 o where o.consumer_id = of_consumer and o.lane = b.lane and o.batch_no >= b.settled_before
          ) i
          cross join lateral (
            select i.messages - coalesce(sum(cardinality(o.message_ids)), 0) as unsettled, coalesce(bool_or(o.final), false) or i.id is null as finished
              from pgque.outcome_1 o where o.segment = i.segment and o.batch_id = i.id
          ) o
          where not o.finished
      )
    )
  );
  foreach from_lane in array coalesce(lanes, '{}') loop
    if consumer_mode = 'ordered' and (pgque.open_batch_of_lane(1, of_consumer, from_lane)).batch_id is not null then
      return query select * from pgque.receive_rest(1, of_consumer, from_lane, worker, lease, reports_started);
      if found then
        return;
      end if;
      -- nothing was left of it, or somebody is just settling it
      continue when (pgque.open_batch_of_lane(1, of_consumer, from_lane)).batch_id is not null;
    end if;
    if per_key is not null then
      select coalesce(array_agg(i.batch_no order by i.batch_no), '{}'), greatest(least(limits.allowed, per_key - coalesce(sum(o.unsettled), 0)), 0)
        into open_before, max_messages
        from (select * from pgque.batch_1 n where n.consumer_id = of_consumer and n.lane = from_lane order by n.batch_no desc limit 1) n
       cross join lateral (
         select * from pgque.batch_1 o where o.consumer_id = of_consumer and o.lane = from_lane and o.batch_no = any (n.still_open)
         union all
         select * from pgque.batch_1 o where o.consumer_id = of_consumer and o.lane = from_lane and o.batch_no >= n.settled_before
       ) i
       cross join lateral (
         select i.messages - coalesce(sum(cardinality(o.message_ids)), 0) as unsettled, coalesce(bool_or(o.final), false) or i.id is null as finished
           from pgque.outcome_1 o where o.segment = i.segment and o.batch_id = i.id
       ) o
       where not o.finished;
    end if;
    -- a limit is reached, which holds up no rest: it was received before
    continue when max_messages = 0;
    expired := 0;
    current_segment := pgque.pointer_segment(pg_sequence_last_value('pgque.segment_pointer_1'));
    case current_segment
      when 0 then
        select b.* into position from pgque.batch_1_0 b where b.consumer_id = of_consumer and b.lane = from_lane order by b.batch_no desc limit 1;
        is_there := found;
        if is_there and position.next_snapshot is null then
          select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
            into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
            from pgque.batch_1_0 b
           where b.consumer_id = of_consumer and b.lane = from_lane and b.batch_no = position.window_batch_no;
        end if;
      when 1 then
        select b.* into position from pgque.batch_1_1 b where b.consumer_id = of_consumer and b.lane = from_lane order by b.batch_no desc limit 1;
        is_there := found;
        if is_there and position.next_snapshot is null then
          select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
            into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
            from pgque.batch_1_1 b
           where b.consumer_id = of_consumer and b.lane = from_lane and b.batch_no = position.window_batch_no;
        end if;
      when 2 then
        select b.* into position from pgque.batch_1_2 b where b.consumer_id = of_consumer and b.lane = from_lane order by b.batch_no desc limit 1;
        is_there := found;
        if is_there and position.next_snapshot is null then
          select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
            into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
            from pgque.batch_1_2 b
           where b.consumer_id = of_consumer and b.lane = from_lane and b.batch_no = position.window_batch_no;
        end if;
      else
        -- younger than this function
        is_there := false;
    end case;
    if not is_there then
      select b.* into position from pgque.batch_1 b where b.consumer_id = of_consumer and b.lane = from_lane order by b.batch_no desc limit 1;
      is_there := found;
      if is_there and position.next_snapshot is null then
        select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
          into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
          from pgque.batch_1 b
         where b.consumer_id = of_consumer and b.lane = from_lane and b.batch_no = position.window_batch_no;
      end if;
      current_segment := pgque.pointer_segment(pg_sequence_last_value('pgque.segment_pointer_1'));
    end if;
    started := clock_timestamp();
    if nothing_open then
      position.settled_before := position.batch_no + 1;
      position.still_open := null;
    end if;
    if open_before is not null then
      position.settled_before := position.batch_no + 1;
      position.still_open := nullif(open_before, '{}');
    end if;
  
    for attempt_no in case when position.exhausted then 2 else 1 end .. 2 loop
      if attempt_no = 2 then
        position.prev_snapshot := position.next_snapshot;
        position.next_snapshot := pgque.snapshot_now();
        position.last_txid := '0';
        position.last_seq := -1;
        position.window_segments := null;
        position.window_mins := null;
        position.window_maxs := null;
      end if;
      keeps_window := attempt_no = 1 and position.segment = current_segment;
      before_txid := pg_snapshot_xmax(position.next_snapshot);
      after_txid := pg_snapshot_xmax(position.prev_snapshot);
      after_seq := -1;
      is_among_late := position.last_txid < after_txid;
      if not is_among_late then
        after_txid := position.last_txid;
        after_seq := position.last_seq;
      end if;
      if is_among_late and pg_snapshot_xmin(position.prev_snapshot) < after_txid then
        for message in
          (
            select m.*
              from pg_snapshot_xip(position.prev_snapshot) as late(txid)
             cross join lateral (
               select m.*
                 from pgque.message_1 m
                where m.lane = from_lane
                  and m.txid = late.txid
                  and (m.txid, m.seq) > (position.last_txid, position.last_seq)
                  and (m.consumer_id is null or m.consumer_id = of_consumer)
                order by m.lane, m.txid, m.seq
                limit max_messages + 1
             ) m
             where late.txid >= position.last_txid
               and pg_visible_in_snapshot(late.txid, position.next_snapshot)
             limit max_messages + 1
          )
          union all
          (
            select m.*
              from pgque.message_1 m
             where m.lane = from_lane
               and (m.txid, m.seq) > (after_txid, after_seq)
               and m.txid < before_txid
               and pg_visible_in_snapshot(m.txid, position.next_snapshot)
               and (m.consumer_id is null or m.consumer_id = of_consumer)
             order by m.lane, m.txid, m.seq
             limit max_messages + 1
          )
        loop
          seen := seen + 1;
          -- what is not returned says that the page is not the last
          exit when messages = max_messages or bytes >= max_bytes;
          if messages = 0 then
            batch_id := pgque.make_batch_id(nextval('pgque.batch_seq_1'), 1, current_segment);
            lease_until := clock_timestamp() + lease;
            first_txid := message.txid;
            first_seq := message.seq;
          end if;
          last_txid := message.txid;
          last_seq := message.seq;
          messages := messages + 1;
          -- the length of a payload is known without reading it
          bytes := bytes + coalesce(octet_length(message.payload), 0);
          return next (
            batch_id, message.id, message.attempt::int, message.type, message.payload, message.headers, message.created_at, lease_until, null::int,
            message.key, message.crashes::int
          )::pgque.received_message;
        end loop;
      else
        -- most windows have no late messages, and to start the scans for them is what costs
        for message in
          (
            select m.*
              from pgque.message_1 m
             where m.lane = from_lane
               and (m.txid, m.seq) > (after_txid, after_seq)
               and m.txid < before_txid
               and pg_visible_in_snapshot(m.txid, position.next_snapshot)
               and (m.consumer_id is null or m.consumer_id = of_consumer)
             order by m.lane, m.txid, m.seq
             limit max_messages + 1
          )
        loop
          seen := seen + 1;
          -- what is not returned says that the page is not the last
          exit when messages = max_messages or bytes >= max_bytes;
          if messages = 0 then
            batch_id := pgque.make_batch_id(nextval('pgque.batch_seq_1'), 1, current_segment);
            lease_until := clock_timestamp() + lease;
            first_txid := message.txid;
            first_seq := message.seq;
          end if;
          last_txid := message.txid;
          last_seq := message.seq;
          messages := messages + 1;
          -- the length of a payload is known without reading it
          bytes := bytes + coalesce(octet_length(message.payload), 0);
          return next (
            batch_id, message.id, message.attempt::int, message.type, message.payload, message.headers, message.created_at, lease_until, null::int,
            message.key, message.crashes::int
          )::pgque.received_message;
        end loop;
      end if;
      if messages > 0 then
        if position.batch_no % 64 = 0 then
          select w.settled_before, w.still_open into position.settled_before, position.still_open
            from pgque.move_settled_watermark(
              1, of_consumer, from_lane, position.batch_no, (position.settled_before, position.still_open)::pgque.settled_watermark
            ) w;
        end if;
        insert into pgque.batch_1 (
          segment, consumer_id, lane, batch_no, id, prev_snapshot, next_snapshot, window_batch_no, window_segments, window_mins, window_maxs,
          first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, reports_started, created_at, lease_until,
          rate_until
        ) values (
          current_segment, of_consumer, from_lane, position.batch_no + 1, batch_id,
          -- a window is stored once per segment, its further batches refer to it
          case when not keeps_window then position.prev_snapshot end,
          case when not keeps_window then position.next_snapshot end,
          case when keeps_window then position.window_batch_no else position.batch_no + 1 end,
          case when not keeps_window then position.window_segments end,
          case when not keeps_window then position.window_mins end,
          case when not keeps_window then position.window_maxs end,
          first_txid, first_seq, last_txid, last_seq, messages,
          position.expired,
          seen = messages,
          -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
          position.settled_before, position.still_open, worker, nullif(reports_started, false), started, lease_until, rate_from + messages * rate_step
        );
        return;
      end if;
    end loop;
  
    -- a poll that had much to skip (an open bulk load, other consumers' retries, what had expired) is not paid for again. Not one that was slow
    -- for other reasons
    if expired > 0 or clock_timestamp() - started > interval '10 ms'
       and pgque.index_entries_read('pgque.message_1') > 1000 then
      insert into pgque.batch_1 (
        segment, consumer_id, lane, batch_no, prev_snapshot, next_snapshot, window_batch_no, last_txid, last_seq, messages, expired, exhausted, settled_before,
        still_open, rate_until
      ) values (
        current_segment, of_consumer, from_lane, position.batch_no + 1, position.next_snapshot, position.next_snapshot, position.batch_no + 1, '0', -1, 0, position.expired + expired, true,
        position.settled_before, position.still_open, position.rate_until
      );
    end if;
  end loop;
end
$function$;
