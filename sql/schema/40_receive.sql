-- Receiving. The cursor of a (consumer, lane) is a pair of snapshots and a position: the window is every message that
-- next_snapshot sees and prev_snapshot does not. It never changes once taken, so it can be paged by (txid, seq) in any page
-- size by any number of workers. When it is used up, next becomes prev and the receiver takes a new next: no ticker.
--
-- Why no message is missed or comes twice: a row is inserted before its transaction commits, so one visible in
-- next_snapshot is visible to the statement that follows; one still in progress is in next_snapshot's list or at or after
-- its xmax, and so in a later window. Sequences, commit order and long writers do not matter. A receive that rolls back
-- takes its cursor row back with it.

-- The messages after the position of the cursor that were sent from the end of prev_snapshot on, before a txid.
create function messages_of_window(source text, lane text, before text, condition text) returns text
language sql
immutable
return format($sql$
  (
    select m.txid, m.seq, m.id, m.attempt, m.key, m.type, m.payload, m.headers, m.created_at
      from %1$s
       and m.lane = %3$s
       and (m.txid, m.seq) > (
         case when position.last_txid < pg_snapshot_xmax(position.prev_snapshot) then pg_snapshot_xmax(position.prev_snapshot) else position.last_txid end,
         case when position.last_txid < pg_snapshot_xmax(position.prev_snapshot) then -1 else position.last_seq end
       )
       and m.txid < %2$s
       and pg_visible_in_snapshot(m.txid, position.next_snapshot)
       and (m.consumer_id is null or m.consumer_id = reader)%4$s
     order by m.lane, m.txid, m.seq
     limit max_messages
  )
$sql$, source, before, lane, condition);

-- The condition that a message has not expired, for a queue whose messages may.
create function not_expired(queue_id int) returns text
language sql
stable
set search_path from current
return case when (select q.expiry from queue q where q.id = queue_id) then ' and (m.expires_at is null or m.expires_at > started)' else '' end;

-- Where a page of a lane is read from.
--   window  the whole ring. Most windows have no late messages, and to start the scans for them is what costs.
--   late    the whole ring, and first the messages of transactions that were open when prev_snapshot was taken
--   part    the segments of part.part, before part.before: see 39_window_segments.sql
create function page_source(queue_id int, lane text, kind text) returns text
language plpgsql
set search_path from current
as $generate$
declare
  window_messages constant text := messages_of_window(format('message_%s m where true', queue_id), lane, 'pg_snapshot_xmax(position.next_snapshot)', not_expired(queue_id));
begin
  if kind = 'window' then
    return window_messages;
  elsif kind = 'late' then
    return format($sql$
  (
    select m.*
      from pg_snapshot_xip(position.prev_snapshot) as late(txid)
     cross join lateral (
       select m.txid, m.seq, m.id, m.attempt, m.key, m.type, m.payload, m.headers, m.created_at
         from message_%1$s m
        where m.lane = %2$s
          and m.txid = late.txid
          and (m.txid, m.seq) > (position.last_txid, position.last_seq)
          and (m.consumer_id is null or m.consumer_id = reader)%3$s
        order by m.lane, m.txid, m.seq
        limit max_messages
     ) m
     where late.txid >= position.last_txid
       and pg_visible_in_snapshot(late.txid, position.next_snapshot)
     limit max_messages
  )
  union all
$sql$, queue_id, lane, not_expired(queue_id)) || window_messages;
  end if;
  -- a segment that is not in the part is not even opened. The order across segments has to be made: a union is not read in order
  return format('(select m.* from (%s) m order by m.txid, m.seq)', (
    select string_agg(messages_of_window(format('only message_%1$s_%2$s m where %2$s = any (part.part)', queue_id, segment), lane, 'part.before', not_expired(queue_id)), ' union all ')
      from generate_series(0, segment_count(queue_id) - 1) as ring(segment)
  ));
end
$generate$;

-- How many messages were passed over on the way from the cursor's position to another because they had expired. Without another condition
-- on txid beside the upper bound: see 43_batch_messages.sql.
create function expired_between(queue_id int, lane text, txid text, seq text) returns text
language sql
immutable
return format($sql$(
               select count(*)
                 from (
                   select m.*
                     from pg_snapshot_xip(position.prev_snapshot) as late(txid)
                    cross join lateral (
                      select * from message_%1$s m
                       where m.lane = %2$s and m.txid = late.txid
                         and m.seq > case when late.txid = position.last_txid then position.last_seq else -1 end
                         and m.seq <= case when late.txid = %3$s then %4$s else 9223372036854775807 end
                    ) m
                    where late.txid >= position.last_txid and late.txid <= %3$s and pg_visible_in_snapshot(late.txid, position.next_snapshot)
                   union all
                   select *
                     from message_%1$s m
                    where m.lane = %2$s
                      and (m.txid, m.seq) > (
                        case when position.last_txid < pg_snapshot_xmax(position.prev_snapshot) then pg_snapshot_xmax(position.prev_snapshot) else position.last_txid end,
                        case when position.last_txid < pg_snapshot_xmax(position.prev_snapshot) then -1 else position.last_seq end)
                      and (m.txid, m.seq) <= (%3$s, %4$s)
                      and pg_visible_in_snapshot(m.txid, position.next_snapshot)
                 ) m
                where m.expires_at <= started and (m.consumer_id is null or m.consumer_id = reader)
             )$sql$, queue_id, lane, txid, seq);

-- The statement that reads one page of a window, appends the batch row and returns the messages.
create function receive_page(queue_id int, lane text, kind text) returns text
language plpgsql
set search_path from current
as $generate$
declare
  lane_by constant text := (select q.lane_by from queue q where q.id = queue_id);
  is_last_page constant text := 'p.messages < max_messages' || case when kind = 'part' then ' and not part.more' else '' end;
begin
  return format($sql$
    return query
    with window_messages as materialized (
      select *
        from (
          %2$s
        ) page
       limit max_messages
    ),
    picked as (
      select array_agg(w.txid) as txids, array_agg(w.seq) as seqs, count(*)::int as messages
        from window_messages w
      having count(*) > 0
    ),
    new_batch as (
      insert into batch_%1$s (
        segment, consumer_id, lane, n, id, prev_snapshot, next_snapshot, window_n, window_segments, window_mins, window_maxs,
        first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, created_at, lease_until,
        rate_until
      )
      select current_segment, reader, %4$s, position.n + 1,
             make_batch_id(nextval('batch_seq_%1$s'), %1$s, current_segment),
             -- a window is stored once per segment, its further batches refer to it
             case when not k.keeps_window then position.prev_snapshot end,
             case when not k.keeps_window then position.next_snapshot end,
             case when k.keeps_window then position.window_n else position.n + 1 end,
             case when not k.keeps_window then position.window_segments end,
             case when not k.keeps_window then position.window_mins end,
             case when not k.keeps_window then position.window_maxs end,
             p.txids[1], p.seqs[1], p.txids[p.messages], p.seqs[p.messages], p.messages, %6$s, %3$s,
             -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
             (l.line).settled_before, (l.line).still_open, receive_%1$s.worker, started, clock_timestamp() + lease,
             rate_from + p.messages * rate_step
        from picked p,
             (select position.segment = current_segment and attempt_no = 1 and position.window_n is not null) as k(keeps_window),
             -- offset 0: evaluated once
             (
               select case when position.n %% 64 = 0
                        then move_settled_line(%1$s, reader, %4$s, position.n, (position.settled_before, position.still_open)::settled_line)
                        else (position.settled_before, position.still_open)::settled_line
                      end as line
               offset 0
             ) l
      returning id, lease_until
    )
    select b.id, m.id, m.attempt::int, m.type, m.payload, m.headers, m.created_at, b.lease_until, %5$s, m.key
      from window_messages m
     cross join new_batch b;
$sql$, queue_id, page_source(queue_id, lane, kind), is_last_page, lane,
    case lane_by when 'priority' then lane else 'null::int' end,
    case when not_expired(queue_id) = '' then 'position.expired' else 'position.expired + expired + ' || expired_between(queue_id, lane,
      format('case when %s then pg_snapshot_xmax(position.next_snapshot) else p.txids[p.messages] end', is_last_page),
      format('case when %s then 0 else p.seqs[p.messages] end', is_last_page)) end);
end
$generate$;

-- The statements that read a window part by part, and return from the function with the first page that has something; empty for a ring
-- that is not worth it.
create function receive_parts(queue_id int, lane text) returns text
language plpgsql
set search_path from current
as $generate$
begin
  if segment_count(queue_id) <= segments_looked_into() then
    return '';
  end if;
  return format($parts$
    if attempt_no = 1 and position.last_txid >= pg_snapshot_xmax(position.prev_snapshot) then
      if position.window_segments is null then
        select w.segments, w.mins, w.maxs into position.window_segments, position.window_mins, position.window_maxs
          from find_window_segments(%1$s, %4$s, position.prev_snapshot, position.next_snapshot) w;
        -- stored again, with what was found out
        position.window_n := null;
      end if;
      from_txid := position.last_txid;
      loop
        select * into part from window_part(position.window_segments, position.window_mins, position.window_maxs, from_txid);
        -- a segment younger than this function: this once, look into all
        exit when part.before is null or not part.part <@ %3$L::int[];
        %2$s
        if found then
          return;
        end if;
        from_txid := part.before;
      end loop;
      continue when part.before is null;
    end if;
$parts$, queue_id, receive_page(queue_id, lane, 'part'), array(select generate_series(0, segment_count(queue_id) - 1)), lane);
end
$generate$;

-- The statements that read the cursor of a consumer in a lane, its newest batch row, from some table of batches. A window is stored in the
-- row that took it, in the same table.
create function read_cursor(source text, lane text) returns text
language sql
immutable
return format($sql$
      select b.* into position from %1$s b where b.consumer_id = reader and b.lane = %2$s order by b.n desc limit 1;
      is_there := found;
      if is_there and position.next_snapshot is null then
        select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
          into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
          from %1$s b
         where b.consumer_id = reader and b.lane = %2$s and b.n = position.window_n;
      end if;
$sql$, source, lane);

-- The same for the table of the current segment, whichever that is.
create function read_current_cursor(queue_id int, lane text) returns text
language sql
stable
set search_path from current
begin atomic
  select string_agg(format('when %s then %s', segment, read_cursor(format('batch_%s_%s', queue_id, segment), lane)), '' order by segment)
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);
end;

-- The statements that receive from one lane, whose cursor's lock is held, and return from the function when there was something.
create function receive_lane(queue_id int, lane text) returns text
language plpgsql
set search_path from current
as $generate$
begin
  return format($lane$
  current_segment := pointer_segment(pg_sequence_last_value('segment_pointer_%1$s'));
  case current_segment
    %2$s
    else
      -- younger than this function
      is_there := false;
  end case;
  if not is_there then
    %3$s
    current_segment := pointer_segment(pg_sequence_last_value('segment_pointer_%1$s'));
  end if;
  started := clock_timestamp();

  for attempt_no in case when position.exhausted then 2 else 1 end .. 2 loop
    if attempt_no = 2 then
      position.prev_snapshot := position.next_snapshot;
      position.next_snapshot := snapshot_now();
      position.last_txid := '0';
      position.last_seq := -1;
      position.window_segments := null;
      position.window_mins := null;
      position.window_maxs := null;
    end if;
    %4$s
    if position.last_txid < pg_snapshot_xmax(position.prev_snapshot)
       and pg_snapshot_xmin(position.prev_snapshot) < pg_snapshot_xmax(position.prev_snapshot) then
      %5$s
    else
      %6$s
    end if;
    if found then
      return;
    end if;
    %8$s
  end loop;

  -- a poll that had much to skip (an open bulk load, other consumers' retries, what had expired) is not paid for again. Not one that was slow
  -- for other reasons
  if expired > 0 or clock_timestamp() - started > interval '10 ms'
     and (select sum(pg_stat_get_xact_tuples_fetched(i.inhrelid)) from pg_inherits i where i.inhparent = 'message_%1$s'::regclass) > 1000 then
    insert into batch_%1$s (
      segment, consumer_id, lane, n, prev_snapshot, next_snapshot, window_n, last_txid, last_seq, messages, expired, exhausted, settled_before,
      still_open, rate_until
    ) values (
      current_segment, reader, %7$s, position.n + 1, position.next_snapshot, position.next_snapshot, position.n + 1, '0', -1, 0, position.expired + expired, true,
      position.settled_before, position.still_open, position.rate_until
    );
  end if;
$lane$, queue_id, read_current_cursor(queue_id, lane), read_cursor(format('batch_%s', queue_id), lane), receive_parts(queue_id, lane),
  receive_page(queue_id, lane, 'late'), receive_page(queue_id, lane, 'window'), lane,
  case when not_expired(queue_id) <> '' then format('expired := expired + %s;', expired_between(queue_id, lane, 'pg_snapshot_xmax(position.next_snapshot)', '0')) else '' end);
end
$generate$;

-- Writes receive_<queue id>. Its steps, and what must not be changed about them:
--   1. READ COMMITTED only, and in the cluster whose transaction ids are stored: see 06_cluster_mark.sql.
--   2. ROW EXCLUSIVE on the parent of the batch tables, first of all: see create_segment.
--   3. The advisory lock of the consumer's cursors, in a statement of its own, so that the next statement's snapshot is taken after it.
--      An exclusive consumer gets its open batch again, if there is one. A queue with lanes is received from lane by lane: see 41_lanes.sql.
--   4. The newest batch row is the cursor. If the consumer has rows in the current segment, the newest of them it is: the pointer moves to
--      empty segments only, and whoever writes a batch row holds the cursor's lock, or by truncating keeps all receivers out. Otherwise
--      it is looked for in all, and the pointer is read again now that this transaction holds ACCESS SHARE on every batch table and
--      none of them is truncated until it ends: by the old pointer the new row might go where an older one is not the newest.
--   5. Messages of transactions that were in progress in prev and finished by next come first: one index probe for each
--      such transaction. A range scan from xmin(prev) would read an hour of messages behind an hour-old writer.
--   6. Then the rest of the window. Its lower bound is the row comparison alone: with "txid >=" beside it the b-tree starts
--      at the wrong key and reads the window again.
--   7. Nothing there, or known to be exhausted: once more with a new window. Still nothing: nothing was written, not even a
--      transaction id taken.
-- The plan is an ordered index scan whatever the statistics say: the planner has nothing else to choose.
create function generate_receive(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
begin
  execute format($ddl$
create or replace function receive_%1$s(consumer text, worker text, max_messages int, lease interval) returns setof received_message
language plpgsql
security definer
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $receive$
declare
  reader int;
  reader_mode text;
  is_paused boolean;
  has_limits boolean;
  position record;
  current_segment smallint;
  started timestamptz;
  expired bigint := 0;
  rate_from timestamptz;
  rate_step interval;
  limits record;
  is_there boolean;
  from_txid xid8;
  part record;
  lanes int[];
  from_lane int;
begin
  -- what is wrong is said by functions; to call them when nothing is would cost an empty poll a third of its time
  if current_setting('transaction_isolation') <> 'read committed' or is_elsewhere() then
    perform require_home();
    perform require_read_committed('receive');
  end if;
  if (max_messages between 1 and 100000 and lease > '0' and lease <= '7 days') is not true then
    perform check_receive(max_messages, lease);
  end if;
  lock table only batch_%1$s in row exclusive mode;
  select c.id, c.mode, c.paused, coalesce(c.max_in_flight, c.rate_limit) is not null as has_limits into reader, reader_mode, is_paused, has_limits
    from consumer c where c.queue_id = %1$s and c.name = receive_%1$s.consumer;
  if reader is null then
    perform require_consumer(%1$s, consumer);
  end if;
  if is_paused%4$s then
    return;
  end if;
  perform pg_advisory_xact_lock(hashint8extended(reader::bigint << 16, %2$s));
  if reader_mode = 'exclusive' then
    return query select * from receive_open_batch(%1$s, reader, worker, lease);
    if found then
      return;
    end if;
  end if;
  if has_limits then
    limits := receive_allowance(%1$s, reader, max_messages);
    max_messages := limits.allowed;
    rate_from := limits.rate_from;
    rate_step := limits.rate_step;
    if max_messages = 0 then
      return;
    end if;
  end if;
%3$s
end
$receive$;
revoke all on function receive_%1$s(text, text, int, interval) from public
$ddl$, queue_id, lock_seed('cursor', queue_id),
  case when (select q.lane_by is null from queue q where q.id = queue_id) then receive_lane(queue_id, '0') else receive_lanes(queue_id) end,
  case when (select q.paused from queue q where q.id = queue_id) then ' or true' else '' end);
end
$generate$;

create function check_receive(max_messages int, lease interval) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if max_messages is null or max_messages not between 1 and 100000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected max to be an integer from 1 to 100000, got: %s', coalesce(max_messages::text, 'NULL')),
      hint = 'Receive what you can handle within one lease.';
  end if;
  if lease is null or not (lease > '0' and lease <= '7 days') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the lease to be longer than 0 and at most 7 days, got: %s', coalesce(lease::text, 'NULL')),
      hint = 'A worker that sends heartbeats needs no long lease.';
  end if;
end
$$;
