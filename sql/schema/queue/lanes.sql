-- Lanes: sub-logs of a queue, each with a cursor per consumer. Which lane a message goes to is decided when it is sent, by its priority or
-- by its key.

-- The lane of a key. Our own hash: one of Postgres's may change between its majors, and with it the order. Null for null.
create function lane_of_key(key text, lanes int) returns int
language sql
stable
strict
return ((get_byte(sha256(convert_to(key, 'UTF8')), 0) << 8) | get_byte(sha256(convert_to(key, 'UTF8')), 1)) % lanes;

-- Writes lane_of_<queue id>, the lane of a message of a queue with keys; one without a key goes to any. A function that is written into
-- the plan of the INSERT that calls it: an INSERT that waited while lanes were added is planned again, and uses the new number.
create function generate_lane_of(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  if settings.lane_by = 'key' then
    execute render($ddl$
create or replace function {schema}.lane_of_${queue}(key text, message_id bigint) returns int
language sql
stable
return coalesce({schema}.lane_of_key(key, ${lanes}), (message_id % ${lanes})::int);
revoke all on function {schema}.lane_of_${queue}(text, bigint) from public
    $ddl$, jsonb_build_object('queue', queue_id, 'lanes', settings.lanes));
  end if;
end
$generate$;

-- Gives the consumers of a queue cursors for so many lanes, with keys only when nothing is left in those there are, so that the order of
-- a key is kept. Holds senders up for as long as it looks.
create function add_lanes(old queue, lanes int) returns void
language plpgsql
volatile
set search_path from current
set lock_timeout = '1s'
as $$
declare
  taken pg_snapshot;
begin
  perform require_read_committed('change_queue');
  -- who is just subscribing has cursors for the lanes there were
  perform pg_advisory_xact_lock(lock_key('subscribe', old.id));
  -- no sender has anything uncommitted in the queue, and those that come wait, and then use the new number
  execute (
    select format('lock table %s in share row exclusive mode', string_agg(format(qualified('only {schema}.message_%s_%s'), old.id, segment), ', '))
      from generate_series(0, segment_count(old.id) - 1) as ring(segment)
  );
  if old.lane_by = 'key' and not is_drained(old.id) then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s is not drained', quote_literal(old.name)),
      hint = 'Partitions are added when every consumer is done with everything and nothing is delayed: pause its senders, and try again.';
  end if;
  taken := snapshot_now();
  execute format(qualified($sql$
    insert into {schema}.batch_%1$s (segment, consumer_id, lane, batch_no, window_batch_no, prev_snapshot, next_snapshot, last_txid, last_seq, messages, exhausted)
    select {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_%1$s')), c.id, l.lane, 1, 1, $1, $1, '0', -1, 0, true
      from {schema}.consumer c
     cross join generate_series($2, $3 - 1) as l(lane)
     where c.queue_id = %1$s
  $sql$), old.id) using taken, old.lanes, lanes;
exception
  when lock_not_available then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s is in use', quote_literal(old.name)),
      hint = 'A transaction that has sent to it, or subscribed, is open. Try again.';
end
$$;

-- Every consumer is done with everything that was sent, and nothing waits for its time.
create function is_drained(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  anything boolean;
begin
  execute format(qualified('select exists (select from {schema}.message_%s)'), queue_id) into anything;
  return not has_open_batches(queue_id)
     and delayed_count((select q.uid from queue q where q.id = queue_id)) = 0
     and (not anything or segment_is_received(queue_id, null));
end
$$;
