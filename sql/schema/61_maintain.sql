-- Maintenance has no daemon: every worker calls maintain about once a second, and pg_cron or any scheduler may as well. It is
-- cheap when there is nothing to do, and safe at any rate from any number of sessions: one of them does the work of a queue.

-- So many queues are looked at in one transaction at most: it keeps some twenty locks of each until it ends, and the server has room for
-- some six thousand unless it is told otherwise (max_locks_per_transaction).
create function maintained_at_once_max() returns int
language sql
immutable
return 100;

-- Delivers what has become due, for whatever queue, then recovers and rotates one queue, or without an argument all of them, up to a
-- hundred. Returns the number of things done. A truncation's lock is held until the transaction ends, so it is the last thing done. The
-- queues that were not looked at are for the next call; the order changes, so that none waits for ever. maintain_all does each in a
-- transaction of its own.
create function maintain(queue text default null) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue int;
  segments int;
  done int;
begin
  perform require_read_committed('maintain');
  if queue is not null then
    perform require_queue(queue);
  end if;
  done := rotate_heartbeats() + rotate_dedupe() + rotate_firings();
  if done > 0 then
    -- what was truncated is locked until the transaction ends, for heartbeats, senders and whoever asks who is alive
    return done;
  end if;
  done := maintain_delayed();
  for of_queue in
    select q.id from queue q where maintain.queue is null or q.name = maintain.queue order by random() limit maintained_at_once_max()
  loop
    if pg_try_advisory_xact_lock(lock_key('maintain', of_queue)) then
      segments := segment_count(of_queue);
      perform notify_listeners(of_queue);
      done := done + recover(of_queue) + check_lag(of_queue) + move_pointer(of_queue)::int;
      if segment_count(of_queue) > segments then
        -- its receivers wait until the transaction ends
        return done + 1;
      end if;
      if truncate_drained(of_queue) then
        return done + 1;
      end if;
    end if;
  end loop;
  return done;
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

-- Maintains every queue, each in a transaction of its own: for pg_cron, or any scheduler. A procedure that commits has no settings of its
-- own, so the schema is written into it.
do $do$
begin
  execute format('create procedure maintain_all() language plpgsql as %L', format($body$
declare
  of_queue text;
begin
  foreach of_queue in array %1$s.queue_names() loop
    perform %1$s.maintain(of_queue);
    commit;
  end loop;
end
$body$, quote_ident(current_schema())));
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
  if pg_relation_size(format('heartbeat_%s', next_segment)::regclass) = 0 and not is_being_truncated(format('heartbeat_%s', next_segment)::regclass) then
    perform setval('heartbeat_pointer', pointer_to(next_segment));
    return 1;
  end if;
  execute format('lock table only heartbeat_%s in access exclusive mode', next_segment);
  execute format('select not exists (select from heartbeat_%s where alive_until >= clock_timestamp() and written_at <= clock_timestamp())', next_segment) into over;
  if over then
    execute format('truncate only heartbeat_%s', next_segment);
  end if;
  return over::int;
exception
  when lock_not_available then
    return 0;
end
$$;
