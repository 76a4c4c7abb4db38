-- Delivering what waits before its time: for a person who will not wait, and for tests.
--
-- The log of a delayed table can say that everything up to a time has been moved, and of one queue alone it can say nothing; nor may it
-- say so of a time that has not come, for what is sent later and due before that would count as late, and be delivered at once. So the
-- rows are deleted, which nothing does that runs by itself. What waits in the lanes of ordered consumers is handed out by a row appended,
-- as by a release.

-- Delivers messages of a queue that wait, sent for later or to be tried again: all that are due by a time, in the order in which they are
-- due. Returns how many. What was sent in a transaction that is still open, this one included, goes on waiting.
--   until     infinity: all of them
--   within    of these only what is due so long after the earliest; '0': nothing but the earliest. null: all
--   consumer  what waits for it, or for everybody. null: for whichever consumer
--   message_id  that message alone, and what waits with it in its lane of an ordered consumer
-- Locks out maintenance of delayed messages until the transaction ends, and waits for it. Errors: PQ001 no such queue, PQ002 no such consumer,
-- PQ004 an argument out of range, PQ005 above READ COMMITTED.
create function deliver_delayed(
  queue text, until timestamptz default 'infinity', within interval default null, consumer text default null, message_id bigint default null
) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  reader int;
  due_by timestamptz := until;
  delivered bigint;
begin
  perform require_same_cluster(), require_read_committed('deliver_delayed');
  if until is null or within < '0' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected until to be a time, and within to be 0 or longer, got: %s, %s', coalesce(until::text, 'NULL'), coalesce(within::text, 'NULL')),
      hint = 'To deliver everything leave both out.';
  end if;
  if consumer is not null then
    reader := require_consumer(of_queue, consumer);
  end if;
  perform pg_advisory_xact_lock(lock_key('delayed', 0));
  if within is not null then
    due_by := least(until, first_waiting(of_queue, reader) + within);
  end if;
  delivered := deliver_early(of_queue, reader, due_by, message_id) + end_waits(of_queue, reader, due_by, message_id);
  if delivered > 0 then
    perform wake(of_queue);
  end if;
  return delivered;
end
$$;

-- The delayed tables that are not empty. A loop, whose expressions a session keeps: maintenance asks every second.
create function filled_delayed_tables() returns setof text
language plpgsql
volatile
set search_path from current
as $$
declare
  source text;
begin
  foreach source in array delayed_tables() loop
    if pg_relation_size(relation(source)) > 0 then
      return next source;
    end if;
  end loop;
end
$$;

-- The batches in which the lanes of ordered consumers wait, of one consumer or all, and until when.
create function waiting_batches(queue_id int, consumer_id int) returns table (batch_id bigint, waits_until timestamptz)
language plpgsql
volatile
set search_path from current
as $$
begin
  -- to look for open batches costs more than all the rest
  if exists (
    select from consumer c
     where c.queue_id = waiting_batches.queue_id and c.mode = 'ordered' and (waiting_batches.consumer_id is null or c.id = waiting_batches.consumer_id)
  ) then
    return query
      select b.batch_id, b.waits_until
        from open_batches(waiting_batches.queue_id, waiting_batches.consumer_id) b
       where b.waits_until > clock_timestamp()
       order by b.waits_until;
  end if;
end
$$;

-- When the first message of a queue becomes due that waits, for a consumer and for everybody, or without one for anybody. Null: none waits.
create function first_waiting(queue_id int, consumer_id int) returns timestamptz
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  uid constant bigint := (select q.uid from queue q where q.id = queue_id);
  seen constant pg_snapshot := snapshot_now();
  source text;
  position delayed_position;
  due_at timestamptz;
  first_due_at timestamptz := (select min(w.waits_until) from waiting_batches(queue_id, consumer_id) w);
begin
  for source in select t from filled_delayed_tables() t loop
    position := delayed_position(source);
    execute render($sql$
      select least(
        (select d.due_at from (${rows_after_point}) d where d.queue_uid = $4 and ($5 is null or coalesce(d.consumer_id, $5) = $5) order by d.due_at, d.seq limit 1),
        (select min(d.due_at) from (${late_rows}) d where d.queue_uid = $4 and ($5 is null or coalesce(d.consumer_id, $5) = $5))
      )
    $sql$, jsonb_build_object('rows_after_point', rows_after_point(source), 'late_rows', late_rows(source))) into due_at using position, seen, 'infinity'::timestamptz, uid, consumer_id;
    first_due_at := least(first_due_at, due_at);
  end loop;
  return first_due_at;
end
$$;

-- Takes what waits for a queue out of all delayed tables and sends it. The caller holds the lock "delayed".
create function deliver_early(queue_id int, consumer_id int, due_by timestamptz, message_id bigint) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  settings constant queue := (select q from queue q where q.id = queue_id);
  delivered bigint;
begin
  perform move_cancellations(source, queue_id) from unnest(delayed_tables()) as source;
  -- lanes may have been added since a message was sent whose transaction was open then: the lane of a key is found anew
  execute render($sql$
    insert into {schema}.message_${queue}_${segment} (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
    select nextval('{schema}.message_seq_${queue}'), d.id, d.created_at, d.consumer_id, d.attempt, ${lane}, d.key, d.expires_at, d.type, d.payload, d.headers
      from (
        select taken.*
          from {schema}.filled_delayed_tables() as source
         cross join lateral {schema}.take_delayed(source, $1, $2, $3, $4) taken
         order by taken.due_at, taken.seq
      ) d
  $sql$, jsonb_build_object(
    'queue', queue_id,
    'segment', pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id)))),
    'lane', case when settings.lane_by = 'key' then format(qualified('{schema}.lane_of_%s(d.key, d.id)'), queue_id) else 'd.lane' end
  ))
    using settings.uid, consumer_id, due_by, message_id;
  get diagnostics delivered = row_count;
  return delivered;
end
$$;

-- Deletes from one delayed table what waits there for a queue, and returns it. It counts as moved: a table of which most is gone is
-- worth compacting. All tables have the columns of the first.
create function take_delayed(source text, queue_uid bigint, consumer_id int, due_by timestamptz, message_id bigint) returns setof delayed_soon_0
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  seen constant pg_snapshot := snapshot_now();
  position delayed_position := delayed_position(source);
  taken bigint;
begin
  return query execute render($sql$
    delete from {schema}.${source:I} t
     using (${pending_rows}) d
     where t.due_at = d.due_at and t.seq = d.seq
       and d.due_at <= $3 and d.queue_uid = $4 and ($5 is null or coalesce(d.consumer_id, $5) = $5) and ($6 is null or d.id = $6)
    returning t.*
  $sql$, jsonb_build_object('source', source, 'pending_rows', pending_rows(source))) using position, seen, due_by, queue_uid, consumer_id, message_id;
  get diagnostics taken = row_count;
  if taken > 0 then
    position.n := position.n + 1;
    -- at or before a point that is nowhere yet nothing can be late
    position.snapshot := case when position.due_at = '-infinity' then seen else position.snapshot end;
    position.moved := position.moved + taken;
    perform write_delayed_position(source, position);
  end if;
end
$$;

-- Ends the waits of an ordered consumer's lanes that are over by a time. Returns how many messages stand in them.
create function end_waits(queue_id int, consumer_id int, due_by timestamptz, message_id bigint) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  waiting bigint;
  ids bigint[];
  released bigint := 0;
begin
  for waiting in
    select w.batch_id from waiting_batches(queue_id, consumer_id) w where w.waits_until <= due_by
  loop
    ids := array(select m.message_id from batch_messages(waiting) m);
    continue when message_id <> all (ids);
    released := released + coalesce(hold(waiting, all_requeued(ids, 'release'), others_stay => true), 0);
  end loop;
  return released;
end
$$;
