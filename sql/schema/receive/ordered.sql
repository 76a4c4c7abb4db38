-- Ordered consumers: one open batch in each lane, so that the messages of one key are handled in order and one at a time, with any number
-- of workers, each on other lanes. Order is that of transactions that do not overlap.
--
-- What is left of a batch when it ends, because of a failure, a snooze, a release or a lease that ran out, is never written again, which
-- would put it behind later messages of its key. A batch row over the rest of the same range is appended instead, with each message's
-- attempt. After a failure or a snooze this rest waits: it is handed out to nobody before its time, and the lane with it. A consumer with
-- on_failure = skip lets failed and snoozed messages come later, out of order, as those of a shared consumer do.

-- How the consumer of a batch is subscribed.
create function batch_mode(batch_id bigint, out mode text, out on_failure text)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
begin
  if to_regclass(format(qualified('{schema}.batch_%s_%s'), batch_queue(batch_id), batch_segment(batch_id))) is null then
    return;
  end if;
  execute format(qualified('select c.mode, c.on_failure from {schema}.batch_%1$s_%2$s b join {schema}.consumer c on c.id = b.consumer_id where b.id = $1'),
    batch_queue(batch_id), batch_segment(batch_id)) into mode, on_failure using batch_id;
end
$$;

-- Whether an open batch may be handed out to somebody else: it is a rest whose time has come, or its lease has ended.
create function can_be_taken_over(worker text, lease_until timestamptz, waits_until timestamptz) returns boolean
language sql
volatile
set search_path from current
return case
  when waits_until is not null then waits_until <= clock_timestamp()
  else has_lost_session(worker) or (lease_until < clock_timestamp() and not is_alive(worker))
end;

-- The open batch of a lane, which is what its newest row says. Null: none is open.
create function open_batch_of_lane(queue_id int, consumer_id int, lane int, out batch_id bigint, out can_be_taken boolean)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_sort = off
as $$
begin
  execute format(qualified($sql$
    select b.id, {schema}.can_be_taken_over(b.worker, b.lease_until, b.waits_until)
      from (select * from {schema}.batch_%1$s b where b.consumer_id = $1 and b.lane = $2 order by b.batch_no desc limit 1) b
     where b.id is not null
       and not exists (select from {schema}.outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
  $sql$), queue_id) into batch_id, can_be_taken using consumer_id, lane;
end
$$;

-- What is left of the open batch of a lane, if it may be handed out; the caller holds the cursor's lock.
create function receive_rest(
  queue_id int, consumer_id int, lane int, worker text, lease interval, reports_started boolean
) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  open constant record := open_batch_of_lane(queue_id, consumer_id, lane);
  taken record;
begin
  if open.can_be_taken is not true then
    return;
  end if;
  taken := take_over(open.batch_id, worker, lease, reports_started);
  if taken.batch_id is distinct from open.batch_id then
    return query select * from messages_left(taken.batch_id, taken.lease_until);
  end if;
end
$$;

-- The messages of a batch that are not settled, as receive returns them.
create function messages_left(batch_id bigint, lease_until timestamptz) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  has_priorities constant boolean := (select q.lane_by = 'priority' from queue q where q.id = batch_queue(batch_id));
  state constant record := batch_state(batch_id);
begin
  return query
    select batch_id, m.message_id, m.attempt, m.type, m.payload, m.headers, m.created_at, messages_left.lease_until,
           case when has_priorities then m.lane::int end, m.key, m.crashes
      from batch_messages(batch_id) m
     where not state.final and m.message_id not in (select unnest(state.settled));
end
$$;

-- Finishes an open batch in its worker's place and appends one with what it left, but for what becomes a dead letter. What waited comes as it
-- waited, of what a worker left settle/lost.sql says it. Null: nothing was left. The same batch again: a transaction that settles something of it is
-- open, or just was.
create function take_over(
  old_id bigint, worker text, lease interval, reports_started boolean, out batch_id bigint, out lease_until timestamptz
)
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  max_retries constant int := (select q.max_retries from queue q where q.id = batch_queue(old_id));
  waited boolean;
  state record;
  lost requeued[];
  -- looked up by message: whoever receives may not join in any way but row by row
  hows jsonb;
  rest record;
begin
  batch_id := old_id;
  state := batch_state(old_id);
  execute format(qualified('select waits_until is not null from {schema}.batch_%s_%s where id = $1'), batch_queue(old_id), batch_segment(old_id)) into waited using old_id;
  if not waited then
    lost := lost_messages(old_id, state.settled);
    hows := (select jsonb_object_agg(l.message_id, l.how) from unnest(lost) as l);
  end if;
  select array_agg(m.message_id) filter (where not m.is_dead) as ids,
         array_agg(m.attempt + (m.how is not distinct from 'retry')::int) filter (where not m.is_dead) as attempts,
         array_agg(case when waited then m.crashes else next_crashes(m.crashes, m.how) end) filter (where not m.is_dead) as crashes,
         coalesce(array_agg(m.message_id) filter (where m.is_dead), '{}') as dead
    into rest
    from (
      select b.message_id, b.attempt, b.crashes, l.how, coalesce(l.how = 'bury' or (l.how = 'retry' and b.attempt > max_retries_of(b.headers, max_retries)), false) as is_dead
        from batch_messages(old_id) b
       cross join lateral (select hows ->> b.message_id::text as how) l
       where b.message_id not in (select unnest(state.settled))
    ) m;
  -- the outcome first: a worker that settles the batch from now on finds it finished
  if state.final or not append_outcome(old_id, state.last_n + 1, true, rest.ids || rest.dead) then
    return;
  end if;
  perform requeue(old_id, filter_requeued(lost, rest.dead));
  lease_until := clock_timestamp() + lease;
  batch_id := append_rest(old_id, rest.ids, rest.attempts, rest.crashes, worker, reports_started, lease_until, null);
exception
  when lock_not_available then
    batch_id := old_id;
end
$$;

-- Appends a batch over some messages of an older one, which is the newest of its cursor. Null without messages.
create function append_rest(
  old_id bigint, ids bigint[], attempts int[], crashes int[], worker text, reports_started boolean, lease_until timestamptz, waits_until timestamptz
) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := batch_queue(old_id);
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', of_queue))));
  new_id bigint;
begin
  execute format(qualified($sql$
    insert into {schema}.batch_%1$s (
      segment, consumer_id, lane, batch_no, id, prev_snapshot, next_snapshot, window_batch_no, first_txid, first_seq, last_txid, last_seq,
      messages, remainder_ids, remainder_attempts, remainder_crashes, exhausted, settled_before, still_open, worker, reports_started, lease_until, waits_until,
      rate_until, expired
    )
    select %2$s, b.consumer_id, b.lane, b.batch_no + 1, {schema}.make_batch_id(nextval('{schema}.batch_seq_%1$s'), %1$s, %2$s),
           coalesce(b.prev_snapshot, w.prev_snapshot), coalesce(b.next_snapshot, w.next_snapshot), b.batch_no + 1,
           b.first_txid, b.first_seq, b.last_txid, b.last_seq, cardinality($2), $2, $3, $4, b.exhausted, b.settled_before, b.still_open,
           $5, nullif($6, false), $7, $8, b.rate_until, b.expired
      from {schema}.batch_%1$s b
      join {schema}.batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
     where b.id = $1 and cardinality($2) > 0
    returning id
  $sql$), of_queue, current_segment) into new_id using old_id, ids, attempts, crashes, worker, reports_started, lease_until, waits_until;
  return new_id;
end
$$;

-- Finishes a batch of an ordered consumer with some messages given back: see requeued. The others stay in their place, or are acked.
-- What failed, is snoozed or released waits in its place until the latest of its times; what is buried leaves it, and with a consumer that
-- skips what failed or is snoozed too. Returns how many were given back; null when the batch is unknown, finished, or its lease was taken away.
create function hold(batch_id bigint, given requeued[], others_stay boolean) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  skips constant boolean := (batch_mode(batch_id)).on_failure = 'skip';
  max_retries constant int := (select q.max_retries from queue q where q.id = batch_queue(batch_id));
  waits_until timestamptz;
  state record;
  rest record;
begin
  loop
    state := batch_state(batch_id);
    if state.messages is null or state.final then
      return null;
    end if;
    select count(m.how)::int as given,
           array_agg(m.message_id) filter (where m.stays) as ids,
           array_agg(m.next_attempt) filter (where m.stays) as attempts,
           array_agg(m.next_crashes) filter (where m.stays) as crashes,
           max(m.wait) filter (where m.stays) as waits,
           coalesce(array_agg(m.message_id) filter (where not m.stays), '{}') as leaving
      into rest
      from (
        select b.message_id, g.how, g.wait, b.attempt + (g.how is not distinct from 'retry')::int as next_attempt,
               next_crashes(b.crashes, coalesce(g.how, 'release')) as next_crashes,
               case g.how
                 when 'retry' then not skips and b.attempt <= max_retries_of(b.headers, max_retries)
                 when 'snooze' then not skips
                 when 'bury' then false
                 else true
               end as stays
          from batch_messages(batch_id) b
          left join unnest(given) as g on g.message_id = b.message_id
         where b.message_id not in (select unnest(state.settled)) and (others_stay or g.how is not null)
      ) m;
    if rest.given = 0 and others_stay then
      return 0;
    end if;
    exit when append_outcome(batch_id, state.last_n + 1, true, rest.ids || rest.leaving);
  end loop;
  perform requeue(batch_id, filter_requeued(given, rest.leaving));
  waits_until := clock_timestamp() + coalesce(rest.waits, '0');
  perform append_rest(batch_id, rest.ids, rest.attempts, rest.crashes, null, null, waits_until, waits_until);
  -- what stays and need not wait is for whoever comes
  if coalesce(rest.waits, '0') = '0' and rest.ids is not null then
    perform wake(batch_queue(batch_id));
  else
    perform wake_after_settle(batch_queue(batch_id));
  end if;
  return rest.given;
end
$$;
