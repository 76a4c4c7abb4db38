-- Exclusive consumers: one batch at a time, in the order of the log. The open batch is handed out again on every receive, whoever
-- asks, until it is finished: PgQ's stream reader. While its lease lasts it stays the same batch. When the lease has ended, the receive
-- takes it away as recovery does for a shared consumer, but writes no message again, which would come behind later ones: it appends a
-- batch row over what is left of the same range, each message one attempt further.

-- Whether a batch is one of an exclusive consumer.
create function is_exclusive(batch_id bigint) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  exclusive boolean;
begin
  execute format('select exists (select from batch_%1$s_%2$s b join consumer c on c.id = b.consumer_id where b.id = $1 and c.mode = ''exclusive'')',
    batch_queue(batch_id), batch_segment(batch_id)) into exclusive using batch_id;
  return exclusive;
end
$$;

-- What is left of the open batch of an exclusive consumer, whose cursor's lock the caller holds. No row: none is open.
create function receive_open_batch(queue_id int, consumer_id int, worker text, lease interval) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  open record;
begin
  select * into open from open_batches(queue_id) b where b.consumer_id = receive_open_batch.consumer_id;
  if open.batch_id is null then
    return;
  end if;
  if has_lost_session(open.worker) or (open.lease_until < clock_timestamp() and not is_alive(open.worker)) then
    select * into open.batch_id, open.lease_until from take_over(open.batch_id, worker, lease);
  end if;
  return query
    select open.batch_id, m.message_id, m.attempt, m.type, m.payload, m.headers, m.created_at, open.lease_until
      from batch_messages(open.batch_id) m
     cross join lateral batch_state(open.batch_id) s
     where not s.final and m.message_id <> all (s.settled);
end
$$;

-- Finishes an open batch in its worker's place and appends one with what it left, whose attempts are used up aside: those become dead
-- letters. Null: nothing was left. The same batch again: a transaction that settles something of it is open, or just was.
create function take_over(old_id bigint, worker text, lease interval, out batch_id bigint, out lease_until timestamptz)
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  of_queue constant int := batch_queue(old_id);
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
  max_retries constant int := (select q.max_retries from queue q where q.id = of_queue);
  state record;
  ids bigint[];
  attempts int[];
  dead bigint[];
begin
  batch_id := old_id;
  state := batch_state(old_id);
  select array_agg(m.message_id) filter (where m.attempt <= max_retries),
         array_agg(m.attempt + 1) filter (where m.attempt <= max_retries),
         coalesce(array_agg(m.message_id) filter (where m.attempt > max_retries), '{}')
    into ids, attempts, dead
    from batch_messages(old_id) m
   where m.message_id <> all (state.settled);
  -- the outcome first: a worker that settles the batch from now on finds it finished
  if state.final or not append_outcome(old_id, state.last_n + 1, true, ids || dead) then
    return;
  end if;
  perform give_back(old_id, dead, array_fill(interval '0', array[cardinality(dead)]),
    array_fill('the lease ended before the message was settled'::text, array[cardinality(dead)]));
  batch_id := null;
  execute format($sql$
    insert into batch_%1$s (
      segment, consumer_id, lane, n, id, prev_snapshot, next_snapshot, window_n, first_txid, first_seq, last_txid, last_seq,
      messages, rest_ids, rest_attempts, exhausted, settled_before, still_open, worker, lease_until
    )
    select %2$s, b.consumer_id, b.lane, b.n + 1, make_batch_id(nextval('batch_seq_%1$s'), %1$s, %2$s),
           coalesce(b.prev_snapshot, w.prev_snapshot), coalesce(b.next_snapshot, w.next_snapshot), b.n + 1,
           b.first_txid, b.first_seq, b.last_txid, b.last_seq, cardinality($2), $2, $3, b.exhausted, b.settled_before, b.still_open,
           $4, clock_timestamp() + $5
      from batch_%1$s b
      join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
     where b.id = $1 and $2 is not null
    returning id, lease_until
  $sql$, of_queue, current_segment) into batch_id, lease_until using old_id, ids, attempts, worker, lease;
exception
  when lock_not_available then
    batch_id := old_id;
end
$$;
