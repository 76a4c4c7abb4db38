-- Maintenance has no daemon: every worker calls it about once a second, and pg_cron or any scheduler may as well. It is cheap when there
-- is nothing to do, and safe at any rate from any number of sessions: one of them does the work.
--
-- It has three parts, which workers and maintain_all call in a transaction each, so that none holds up or rolls back another:
-- deliver_due, maintain_queue for each queue that queues_to_maintain names, and maintain_shared. maintain does all three in one.

-- So many queues are looked at in one transaction at most: it keeps some twenty locks of each until it ends, and the server has room for
-- some six thousand unless it is told otherwise (max_locks_per_transaction).
create function maintained_at_once_max() returns int
language sql
immutable
return 100;

-- So many queues are asked in one transaction at most whether they rest: each takes a lock on three sequences.
create function asked_at_once_max() returns int
language sql
immutable
return 500;

-- So long at most before the queues that are left are for the next call: it holds the lock of delayed messages.
create function maintained_time_max() returns interval
language sql
immutable
return interval '250 ms';

-- What is no queue's: truncates what has run out of heartbeats, dedupe keys, results, steps, progress and runs, and compacts the stores of delayed messages. Returns
-- the number of things done. What is truncated is locked until the transaction ends, so it does one thing at a time.
create function maintain_shared() returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  done int;
begin
  perform require_read_committed('maintain_shared'), require_same_cluster();
  done := rotate_heartbeats() + rotate_expiring('dedupe') + rotate_expiring('result') + rotate_expiring('step') + rotate_expiring('progress') + rotate_scheduled_runs();
  return case when done > 0 then done else compact_delayed() end;
end
$$;

-- Moves the pointer of a queue on, or truncates one segment. done: how many things. locks: the transaction now holds a lock for which
-- receivers wait. The caller holds the lock "maintain" of the queue. What fails is noted, and stops nothing else.
create function rotate_queue(queue_id int, ring ring_segment[], positions consumer_position[], out done int, out locks boolean)
language plpgsql
volatile
set search_path from current
as $$
begin
  done := check_lag(queue_id) + move_pointer(queue_id, ring)::int;
  locks := segment_count(queue_id) > cardinality(ring);
  if not locks and not is_backing_off(queue_id, 'truncate') then
    begin
      locks := truncate_drained(queue_id, ring, positions);
    exception
      when others then
        perform note_problem(rotate_queue.queue_id, 'truncate', sqlstate, sqlerrm);
    end;
  end if;
  done := done + locks::int;
end
$$;

-- Recovers and rotates one queue that does not rest, whose lock "maintain" the caller holds. Where the consumers have got to and what the segments
-- hold is read once. done and locks: as rotate_queue.
create function maintain_parts(queue_id int, activity bigint, out done int, out locks boolean)
language plpgsql
volatile
set search_path from current
as $$
declare
  ring constant ring_segment[] := array(select ring_segments(queue_id));
  positions constant consumer_position[] := consumer_positions(queue_id);
  rotated record;
begin
  perform notify_listeners(queue_id), clear_has_cancelled(queue_id, cardinality(ring));
  done := recover(queue_id, positions);
  rotated := rotate_queue(queue_id, ring, positions);
  done := done + rotated.done;
  locks := rotated.locks;
  if done = 0 then
    perform note_idle(queue_id, activity, ring, positions);
  end if;
end
$$;

-- Recovers and rotates one queue, if it does not rest. Returns the number of things done. One session at a time does it; 0 for the others.
create function maintain_queue(queue text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  activity constant bigint := activity_of(of_queue);
begin
  perform require_read_committed('maintain_queue'), require_same_cluster();
  if not needs_maintenance(of_queue) or not pg_try_advisory_xact_lock(lock_key('maintain', of_queue)) then
    return 0;
  end if;
  return (maintain_parts(of_queue, activity)).done;
end
$$;

-- Delivers what has become due, for whatever queue, then recovers and rotates one queue, or without an argument all of them, up to a
-- hundred that do not rest, of five hundred, and for about a quarter of a second. Returns the number of things done. A truncation's lock is held until the transaction ends,
-- so it is the last thing done. The queues that were not looked at are for the next call; the order changes, so that none waits for ever.
-- maintain_all does each in a transaction of its own.
create function maintain(queue text default null) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  started constant timestamptz := clock_timestamp();
  of_queue record;
  parts record;
  done int;
begin
  perform require_read_committed('maintain');
  if queue is not null then
    perform require_queue(queue);
  end if;
  done := deliver_due();
  for of_queue in
    select q.id, activity_of(q.id) as activity
      from (
        select r.id from queue r where maintain.queue is null or r.name = maintain.queue order by random() limit asked_at_once_max()
      ) q
     where needs_maintenance(q.id)
     limit maintained_at_once_max()
  loop
    if pg_try_advisory_xact_lock(lock_key('maintain', of_queue.id)) then
      parts := maintain_parts(of_queue.id, of_queue.activity);
      done := done + parts.done;
      if parts.locks then
        return done;
      end if;
    end if;
    exit when clock_timestamp() - started > maintained_time_max();
  end loop;
  return done + maintain_shared();
end
$$;

create function queue_names() returns text[]
language sql
stable
security definer
set search_path from current
begin atomic
  select coalesce(array_agg(q.name order by q.name), '{}') from queue q;
end;

-- All of maintenance, each part and each queue in a transaction of its own: for pg_cron, or any scheduler. A procedure that commits has no settings of its
-- own, so the schema is written into it.
do $do$
begin
  execute format(qualified('create or replace procedure {schema}.maintain_all() language plpgsql as %L'), format(qualified($body$
declare
  names constant text[] := {schema}.queue_names();
  first int := 1;
  due text[];
  of_queue text;
begin
  perform {schema}.deliver_due();
  commit;
  while first <= cardinality(names) loop
    due := {schema}.queues_to_maintain(names[first : first + {schema}.asked_at_once_max() - 1]);
    commit;
    foreach of_queue in array due loop
      perform {schema}.maintain_queue(of_queue);
      commit;
    end loop;
    first := first + {schema}.asked_at_once_max();
  end loop;
  perform {schema}.maintain_shared();
end
$body$)));
end
$do$;

-- Moves the heartbeats' pointer every ten minutes, and truncates a table once every heartbeat in it has run out.
create function rotate_heartbeats() returns int
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  pointer bigint;
  next_segment int;
  over boolean;
begin
  if not pg_try_advisory_xact_lock(lock_key('heartbeat', 0)) then
    return 0;
  end if;
  pointer := pg_sequence_last_value('heartbeat_pointer');
  next_segment := (pointer_segment(pointer) + 1) % 3;
  if pointer_age(pointer) < '10 min' then
    return 0;
  end if;
  if pg_relation_size(relation(format('heartbeat_%s', next_segment))) = 0 and not is_being_truncated(relation(format('heartbeat_%s', next_segment))) then
    perform setval('heartbeat_pointer', pointer_to(next_segment));
    return 1;
  end if;
  execute format(qualified('lock table only {schema}.heartbeat_%s in access exclusive mode'), next_segment);
  execute format(qualified('select not exists (select from {schema}.heartbeat_%s where alive_until >= clock_timestamp() and written_at <= clock_timestamp())'), next_segment) into over;
  if over then
    execute format(qualified('truncate only {schema}.heartbeat_%s'), next_segment);
  end if;
  return over::int;
exception
  when lock_not_available then
    return 0;
end
$$;
