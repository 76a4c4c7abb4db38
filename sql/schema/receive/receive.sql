-- Receiving. The cursor of a (consumer, lane) is a pair of snapshots and a position: the window is every message that
-- next_snapshot sees and prev_snapshot does not. It never changes once taken, so it can be paged by (txid, seq) in any page
-- size by any number of workers. When it is used up, next becomes prev and the receiver takes a new next: no ticker.
--
-- Why no message is missed or comes twice: a row is inserted before its transaction commits, so one visible in
-- next_snapshot is visible to the statement that follows; one still in progress is in next_snapshot's list or at or after
-- its xmax, and so in a later window. Sequences, commit order and long writers do not matter. A receive that rolls back
-- takes its cursor row back with it.

-- Writes receive_<queue id>. Its steps, and what must not be changed about them:
--   1. READ COMMITTED only, and in the cluster whose transaction ids are stored: see core/cluster_identity.sql.
--   2. ROW EXCLUSIVE on the parent of the batch tables, first of all: see create_segment.
--   3. The advisory lock of the consumer's cursors, in the statement that finds the consumer, so that the next one's snapshot is taken after it.
--      An exclusive consumer gets its open batch again, if there is one. A queue with lanes is received from lane by lane: see receive/lanes.sql.
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
declare
  settings queue;
  segments constant int := segment_count(queue_id);
  -- a window is read from the segments that hold it, not from all
  by_part constant boolean := segments > segments_looked_into();
  cancels constant boolean := allows_cancel(queue_id);
  lane text;
  holes jsonb;
begin
  select * into settings from queue q where q.id = queue_id;
  lane := case when settings.lane_by is null then '0' else 'from_lane' end;
  holes := jsonb_build_object(
    'queue', queue_id,
    'lane', lane,
    'cursor_lock', lock_seed('cursor', queue_id),
    'or_paused', case when settings.paused then ' or true' else '' end,
    'batches', concat_ws('_', 'batch', queue_id),
    'cursor_by_segment', (
      select string_agg(render(E'when ${segment} then\n  ' || indent(read_cursor(), 2), jsonb_build_object(
               'segment', segment, 'batches', concat_ws('_', 'batch', queue_id, segment), 'lane', lane
             )), E'\n' order by segment)
        from generate_series(0, segments - 1) as ring(segment)
    ),
    'return_window', return_messages(queue_id, lane, window_messages(queue_id, lane)),
    'return_late_and_window', return_messages(queue_id, lane, late_messages(queue_id, lane) || E'\nunion all\n' || window_messages(queue_id, lane)),
    'append_batch', append_batch(queue_id, lane),
    'count_expired', count_expired(queue_id, lane),
    'find_passed', find_passed(queue_id, lane),
    'declare_cancelled', case when cancels then E'has_cancelled boolean;\nhas_passed boolean := false;' else '' end,
    'look_for_cancelled', case when cancels
      then format(qualified('has_cancelled := pg_sequence_last_value(''{schema}.has_cancelled_%s'') = 1;'), queue_id) else '' end,
    'or_passed', case when cancels then 'has_passed or ' else '' end,
    'find_open_batch', case when settings.lane_by is null then find_open_batch(queue_id) else '' end,
    'or_per_key', case when settings.lane_by = 'key' then ', c.max_in_flight_per_key' else '' end,
    'declare_per_key', case when settings.lane_by = 'key' then E'per_key int;\nopen_before bigint[];' else '' end,
    'note_per_key', case when settings.lane_by = 'key' then 'per_key := limits.per_key;' else '' end,
    'keep_open_before', case when settings.lane_by = 'key' then keep_open_before() else '' end
  );
  if cancels then
    holes := holes || jsonb_build_object('return_not_cancelled', return_messages(queue_id, lane,
      late_messages(queue_id, lane, cancelled => false) || E'\nunion all\n' || window_messages(queue_id, lane, cancelled => false)));
  end if;
  if by_part then
    holes := holes || jsonb_build_object('unless_cancelled', case when cancels then ' and not has_cancelled' else '' end);
    holes := holes || jsonb_build_object(
      'segments', array(select generate_series(0, segments - 1))::text,
      'return_part', return_messages(queue_id, lane, (
        select render($sql$
          select m.*
            from (
              ${parts}
            ) m
           order by m.txid, m.seq
           limit max_messages + 1
        $sql$, jsonb_build_object('parts', string_agg(window_messages(queue_id, lane, segment), E'\nunion all\n' order by segment)))
          from generate_series(0, segments - 1) as ring(segment)
      )),
      'append_batch_of_part', append_batch(queue_id, lane, 'not part.more')
    );
  end if;
  if settings.lane_by is not null then
    holes := holes || jsonb_build_object(
      'lanes_to_try', lanes_to_try(queue_id),
      'limit_by_key', case when settings.lane_by = 'key' then limit_by_key(queue_id) else '' end,
      'forget_passed', case when cancels then 'has_passed := false;' else '' end
    );
  end if;
  perform write_queue_function(
    concat_ws('_', 'receive', queue_id),
    'consumer text, worker text, max_messages int, lease interval, max_bytes int, reports_started boolean',
    render('setof {schema}.received_message'),
    $settings$
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off$settings$,
    render($body$
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
  ${declare_per_key}
  ${declare_cancelled}
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
  if current_setting('transaction_isolation') <> 'read committed' or {schema}.cluster_changed() then
    perform {schema}.require_same_cluster();
    perform {schema}.require_read_committed('receive');
  end if;
  if (max_messages between 1 and 100000 and lease > '0' and lease <= '7 days' and coalesce(max_bytes, 1) > 0) is not true then
    perform {schema}.check_receive(max_messages, lease, max_bytes);
  end if;
  lock table only {schema}.batch_${queue} in row exclusive mode;
  select c.id, c.mode, c.paused, coalesce(c.max_in_flight, c.rate_limit${or_per_key}) is not null as has_limits,
         pg_advisory_xact_lock(hashint8extended(c.id::bigint << 16, ${cursor_lock})) is not null as is_locked
    into of_consumer, consumer_mode, is_paused, has_limits, is_locked
    from {schema}.consumer c where c.queue_id = ${queue} and c.name = receive_${queue}.consumer;
  if of_consumer is null then
    perform {schema}.require_consumer(${queue}, consumer);
  end if;
  if is_paused${or_paused} then
    return;
  end if;
  ${look_for_cancelled}
  if consumer_mode = 'exclusive' then
    ${find_open_batch}
    if nothing_open is not true then
      return query select * from {schema}.receive_open_batch(${queue}, of_consumer, worker, lease, reports_started);
      if found then
        return;
      end if;
      -- not when somebody is just finishing one
      nothing_open := not {schema}.has_open_batches(${queue}, of_consumer);
    end if;
  end if;
  if has_limits then
    limits := {schema}.receive_limits(${queue}, of_consumer, max_messages);
    max_messages := limits.allowed;
    rate_from := limits.rate_from;
    rate_step := limits.rate_step;
    ${note_per_key}
    if max_messages = 0 and consumer_mode <> 'ordered' then
      return;
    end if;
  end if;$body$
      || case when settings.lane_by is null then receive_lane(by_part, cancels) else receive_lanes(receive_lane(by_part, cancels)) end
      || E'\nend', holes)
  );
end
$generate$;

-- Fragment: the statement that finds out, without planning one, that an exclusive consumer has no open batch: its newest row says that all before it
-- are finished, and its own is. Of a row in the current segment, which is the newest for sure.
-- Reads: of_consumer. Writes: nothing_open.
create function find_open_batch(queue_id int) returns text
language sql
stable
set search_path from current
return render($sql$
select b.settled_before = b.batch_no and b.still_open is null
       and (b.id is null or exists (select from {schema}.outcome_${queue} o where o.segment = b.segment and o.batch_id = b.id and o.final))
  into nothing_open
  from {schema}.batch_${queue} b
 where b.segment = {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_${queue}')) and b.consumer_id = of_consumer and b.lane = 0
 order by b.batch_no desc
 limit 1;$sql$, jsonb_build_object('queue', queue_id));

-- Part of a template: the statements that read the cursor of a consumer in a lane, its newest batch row, from a table of batches. A window is stored
-- in the row that took it, in the same table.
create function read_cursor() returns text
language sql
immutable
return $cursor$select b.* into position from {schema}.${batches} b where b.consumer_id = of_consumer and b.lane = ${lane} order by b.batch_no desc limit 1;
is_there := found;
if is_there and position.next_snapshot is null then
  select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
    into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
    from {schema}.${batches} b
   where b.consumer_id = of_consumer and b.lane = ${lane} and b.batch_no = position.window_batch_no;
end if;$cursor$;

-- Part of a template: the statements that receive from one lane, whose cursor's lock is held, and return from the function when there was something.
-- by_part: see receive/window_segments.sql. cancels: see cancel/cancellations.sql.
create function receive_lane(by_part boolean, cancels boolean) returns text
language sql
immutable
return $lane$
  current_segment := {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_${queue}'));
  case current_segment
    ${cursor_by_segment}
    else
      -- younger than this function
      is_there := false;
  end case;
  if not is_there then
    $lane$ || indent(read_cursor(), 4) || $lane$
    current_segment := {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_${queue}'));
  end if;
  started := clock_timestamp();
  if nothing_open then
    position.settled_before := position.batch_no + 1;
    position.still_open := null;
  end if;
  ${keep_open_before}

  for attempt_no in case when position.exhausted then 2 else 1 end .. 2 loop
    if attempt_no = 2 then
      position.prev_snapshot := position.next_snapshot;
      position.next_snapshot := {schema}.snapshot_now();
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
    end if;$lane$ || case when by_part then receive_parts() else '' end || $lane$
    $lane$ || case when cancels then E'if has_cancelled then\n      ${return_not_cancelled}\n    elsif' else 'if' end || $lane$ is_among_late and pg_snapshot_xmin(position.prev_snapshot) < after_txid then
      ${return_late_and_window}
    else
      -- most windows have no late messages, and to start the scans for them is what costs
      ${return_window}
    end if;
    ${append_batch}
    ${count_expired}
    ${find_passed}
  end loop;

  -- a poll that had much to skip (an open bulk load, other consumers' retries, what had expired) is not paid for again. Not one that was slow
  -- for other reasons
  if ${or_passed}expired > 0 or clock_timestamp() - started > interval '10 ms'
     and {schema}.index_entries_read('{schema}.message_${queue}') > 1000 then
    insert into {schema}.batch_${queue} (
      segment, consumer_id, lane, batch_no, prev_snapshot, next_snapshot, window_batch_no, last_txid, last_seq, messages, expired, exhausted, settled_before,
      still_open, rate_until
    ) values (
      current_segment, of_consumer, ${lane}, position.batch_no + 1, position.next_snapshot, position.next_snapshot, position.batch_no + 1, '0', -1, 0, position.expired + expired, true,
      position.settled_before, position.still_open, position.rate_until
    );
  end if;$lane$;

create function check_receive(max_messages int, lease interval, max_bytes int) returns void
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
  if max_bytes < 1 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected max_bytes to be an integer from 1 to 2147483647, or null, got: %s', max_bytes),
      hint = 'One message is handed out whatever its size.';
  end if;
end
$$;
