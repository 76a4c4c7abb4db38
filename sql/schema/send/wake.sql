-- Waking idle workers. A NOTIFY in every sender's transaction would take a lock of the whole cluster at every commit, so senders
-- notify only when somebody sleeps:
--
--   A worker that is about to sleep raises the idle flag of its queue, a shared advisory lock on the connection on which it listens.
--   A sender inserts first, then tries the same lock exclusively and lets it go. It got it: nobody sleeps. It did not: NOTIFY.
--
-- The try and the release are one expression: between two statements a cancel would leave the lock behind. No wake-up is lost: a sender
-- that tried before the flag was up has already inserted, and holds ROW EXCLUSIVE on a message table until it ends. So a worker raises
-- the flag, then asks has_open_senders, then receives; it may sleep when the answer was no and nothing came. (The list of running
-- transactions in a snapshot would not do: those that began after it are not in it.)

-- The channel that a queue's workers listen on.
create function wake_channel(queue text) returns text
language sql
immutable
return 'pgque_' || queue;

-- Notifies the workers of a queue, unless the cluster's queue of notifications is half full: somebody who listens has not read for long, and once
-- it is full a transaction that notifies fails. Workers poll too.
create function notify_workers(queue_id int) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if pg_notification_queue_usage() > 0.5 then
    return;
  end if;
  perform pg_notify(wake_channel((select q.name from queue q where q.id = queue_id)), '');
end
$$;

-- Fragment: the statement with which a sender of a queue wakes its workers; empty for a queue with notify = false, whose senders may prepare their
-- transactions. call: the function that is called when somebody sleeps.
create function wake_statement(queue_id int, call text default 'notify_workers') returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  if not (select q.notify from queue q where q.id = queue_id) then
    return '';
  end if;
  return render($sql$
    if (case when pg_try_advisory_lock(${idle_lock}) then not pg_advisory_unlock(${idle_lock}) else true end) then
      perform {schema}.${call:I}(${queue});
    end if;
  $sql$, jsonb_build_object('idle_lock', lock_key('idle', queue_id), 'call', call, 'queue', queue_id));
end
$generate$;

-- The same for whoever inserts messages outside of send.
create function wake(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if has_idle_worker(queue_id) then
    perform notify_workers(queue_id);
  end if;
end
$$;

-- Whether a worker of the queue sleeps and is to be woken.
create function has_idle_worker(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
begin
  return (select q.notify from queue q where q.id = queue_id)
    and (case when pg_try_advisory_lock(lock_key('idle', queue_id)) then not pg_advisory_unlock(lock_key('idle', queue_id)) else true end);
end
$$;

-- Raises the idle flag of a queue for this session, which must not send. False: a sender is just looking at it, try again.
create function raise_idle_flag(queue text, caller caller default current_user) returns boolean
language sql
volatile
security definer
set search_path from current
return pg_try_advisory_lock_shared(lock_key('idle', receivable_queue(caller, queue)));

-- Takes it down again. False, with a warning of Postgres: it was not up.
create function lower_idle_flag(queue text, caller caller default current_user) returns boolean
language sql
volatile
security definer
set search_path from current
return pg_advisory_unlock_shared(lock_key('idle', receivable_queue(caller, queue)));

-- Whether somebody has inserted messages into a queue, or settled some and so made room, and not ended the transaction: it may have found no
-- flag up.
create function has_open_senders(queue text, caller caller default current_user) returns boolean
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
  written constant regclass[] := array[relation(format('message_%s', of_queue))]
    || case when limits_in_flight(of_queue) then array[relation(format('outcome_%s', of_queue))] end;
begin
  return exists (
    select from pg_locks l
      join pg_inherits i on i.inhrelid = l.relation and i.inhparent = any (written)
     where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.granted
       and l.pid is distinct from pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
end
$$;
