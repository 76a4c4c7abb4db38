-- Who holds a lock of ours for long. Advisory locks ask for no right: any login may take one by its key, and the keys are in these files. While
-- it does a consumer receives nothing, or nothing is maintained, without an error anywhere. Nothing can keep a login from that, so it is named.

-- The keys of the locks that have names, and what they are for: those of one queue and its consumers, or of all that the caller may look at;
-- those of no queue for whoever may look at every queue. Not there: what is locked for one dedupe key, scheduled run or session.
create function lock_purposes(caller name, of_queue int default null) returns table (key bigint, purpose text, queue_name text, consumer text)
language sql
stable
set search_path from current
begin atomic
  select lock_key(p.purpose, 0), p.purpose, null::text, null::text
    from unnest('{registry,delayed,heartbeat,dedupe,result,step,progress,schedule}'::text[]) as p(purpose)
   where may_view(caller)
  union all
  select lock_key(p.purpose, q.id), p.purpose, q.name, null
    from queue q
   cross join unnest('{maintain,subscribe,idle,cancel}'::text[]) as p(purpose)
   where (of_queue is null or q.id = of_queue) and (may_view(caller) or may_receive(caller, q.id))
  union all
  select lock_key('cursor', q.id, c.id), 'cursor', q.name, c.name
    from consumer c
    join queue q on q.id = c.queue_id
   where (of_queue is null or q.id = of_queue) and (may_view(caller) or may_receive(caller, q.id));
end;

-- The locks of ours that somebody has held for longer than a while, those that are held for longest first, a hundred at most.
--   purpose    cursor: of that consumer. maintain, subscribe, idle, cancel: of that queue. registry, delayed, heartbeat, dedupe, result, step, progress, schedule: of all queues
--   pid        the process that pg_terminate_backend ends; null: prepared_transaction holds it
--   since      at the latest. Postgres does not say when a lock was taken, but when its transaction began; for a session that is idle and holds
--              it nevertheless, since when it is; and whoever waits for a lock waits since it was held. Of other roles' sessions an owner of the
--              schema without pg_read_all_stats knows the last alone
--   waiting    sessions that wait for it; who only tries does not
-- The idle flag is up for as long as a worker waits: that is not meant, but a session that keeps workers from raising it.
create function held_locks(queue text default null, longer_than interval default '10 s', caller caller default current_user) returns table (
  queue_name text,
  consumer text,
  purpose text,
  pid int,
  prepared_transaction text,
  role_name text,
  application_name text,
  since timestamptz,
  waiting int
)
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := viewable_queue(held_locks.caller, held_locks.queue);
begin
  return query
    with advisory as materialized (
      select (l.classid::bigint << 32) | l.objid::bigint as key, l.pid, l.mode, l.granted, l.virtualtransaction, l.waitstart
        from pg_locks l
       where l.locktype = 'advisory' and l.objsubid = 1
         and l.database = (select d.oid from pg_database d where d.datname = current_database())
    ),
    held as materialized (
      select l.key, l.pid, l.mode, x.gid as prepared_transaction, coalesce(a.usename, x.owner)::text as role_name, a.application_name,
             -- who waits has queued behind it, so it was held before
             least(coalesce(a.xact_start, a.state_change, x.prepared), w.since) as since, coalesce(w.waiting, 0) as waiting
        from advisory l
        left join pg_stat_activity a on a.pid = l.pid
        -- the lock on its own transaction id says which one a prepared transaction is
        left join pg_locks own on l.pid is null and own.pid is null and own.locktype = 'transactionid' and own.virtualtransaction = l.virtualtransaction
        left join pg_prepared_xacts x on x.transaction = own.transactionid
        left join (
          select b.key, min(b.waitstart) as since, count(*)::int as waiting from advisory b where not b.granted group by b.key
        ) w on w.key = l.key
       where l.granted
    ),
    long_held as materialized (
      select h.* from held h where h.since < clock_timestamp() - held_locks.longer_than
    )
    select p.queue_name, p.consumer, p.purpose, h.pid, h.prepared_transaction, h.role_name, h.application_name, h.since, h.waiting
      from long_held h
      join (
        -- a key is a hash, and costs: none is computed when nobody holds anything for long
        select k.* from lock_purposes(held_locks.caller, of_queue) k where exists (select from long_held)
      ) p on p.key = h.key and (p.purpose <> 'idle' or h.mode = 'ExclusiveLock')
     order by h.since, p.queue_name, p.consumer, p.purpose
     limit 100;
end
$$;

-- What a lock is, and who holds it, in one line.
create function lock_in_words(purpose text, queue_name text, consumer text) returns text
language sql
immutable
return format('the lock %s%s%s', quote_literal(purpose),
  coalesce(' of consumer ' || quote_literal(consumer), ''), coalesce(' of queue ' || quote_literal(queue_name), ''));

create function holder_in_words(pid int, prepared_transaction text, role_name text, application_name text) returns text
language sql
immutable
return case when pid is null
  then 'prepared transaction ' || coalesce(quote_literal(prepared_transaction), '?')
  else format('process %s (%s)', pid, concat_ws(', ', nullif(application_name, ''), 'user ' || coalesce(role_name, '?')))
end;
