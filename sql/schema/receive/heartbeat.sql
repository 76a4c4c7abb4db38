-- Workers' heartbeats: one inserted row per worker per period, whatever the number of its batches. A ring of three
-- tables; a heartbeat that has run out says nothing, so a table in which all have is truncated.
create table heartbeat (
  segment int not null,
  worker text not null,
  -- the order of the rows; the clock may step back
  n bigint not null,
  written_at timestamptz not null default clock_timestamp(),
  alive_until timestamptz not null,
  -- the name under which the worker holds a session's lock; null: it holds none
  session text,
  -- written by extend: says nothing about the session
  is_extension boolean not null default false
) partition by list (segment);

create table heartbeat_0 partition of heartbeat for values in (0) with (autovacuum_enabled = off);
create table heartbeat_1 partition of heartbeat for values in (1) with (autovacuum_enabled = off);
create table heartbeat_2 partition of heartbeat for values in (2) with (autovacuum_enabled = off);
create index heartbeat_of_worker on heartbeat (worker, n);
create sequence heartbeat_n owned by heartbeat.n;
alter table heartbeat alter n set default nextval('heartbeat_n');

comment on table heartbeat is 'A worker is alive until the latest time in its rows.';

-- Which table takes heartbeats, and since when: see segment_pointer.
create sequence heartbeat_pointer minvalue 0;
select setval('heartbeat_pointer', pointer_to(0));

-- Keeps alive, for ttl from now, the lease of every batch that was received under this worker's name. session: the name that hold_session
-- was given on another connection of the worker, which is dead as soon as that connection is.
create function heartbeat(worker text, ttl interval default '15 s', session text default null) returns void
language plpgsql
security definer
set search_path from current
as $$
begin
  if worker is null or ttl is null or not (ttl > '0' and ttl <= '1 day') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected a worker name and a ttl between 0 and 1 day, got: %L and %L', worker, ttl),
      hint = 'Send a heartbeat every third of its ttl, with the worker name that receive_messages was given.';
  end if;
  insert into heartbeat (segment, worker, alive_until, session)
  values (pointer_segment(pg_sequence_last_value('heartbeat_pointer')), worker, clock_timestamp() + ttl, session);
end
$$;

create function session_key(session text) returns bigint
language sql
stable
set search_path from current
return hashtextextended(session, lock_seed('session', 0));

-- Holds a lock for as long as this session lasts, so that its end is noticed at once. True: held. False: somebody has just looked
-- whether it is, or another session holds it; try again.
create function hold_session(session text) returns boolean
language sql
volatile
security definer
set search_path from current
return pg_try_advisory_lock(session_key(session));

-- Until when the heartbeats of a worker keep it alive; null: it has sent none. A heartbeat that was written at a later time than the newest one
-- does not count: the clock has stepped back since.
create function worker_alive_until(worker text) returns timestamptz
language sql
volatile
set search_path from current
begin atomic
  select max(h.alive_until)
    from heartbeat h
   where h.worker = worker_alive_until.worker
     and h.written_at <= (
       -- heartbeats of two connections may be a moment out of order
       select l.written_at + interval '1 s' from heartbeat l where l.worker = worker_alive_until.worker order by l.n desc limit 1
     );
end;

-- Whether a worker's heartbeats have not run out. The newest row answers for nearly all that are alive.
create function is_alive(worker text) returns boolean
language sql
volatile
set search_path from current
return coalesce(
  (select h.alive_until from heartbeat h where h.worker = is_alive.worker order by h.n desc limit 1) >= clock_timestamp()
    or worker_alive_until(worker) >= clock_timestamp(),
  false
);

-- For so long after its start the server says nothing about who is dead: all sessions ended with it, those of living workers too.
create function session_grace() returns interval
language sql
immutable
return interval '30 s';

-- Whether a worker's last heartbeat named a session that is over.
create function has_lost_session(worker text) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  last_session text;
  key bigint;
begin
  if pg_postmaster_start_time() > clock_timestamp() - session_grace() then
    return false;
  end if;
  select h.session into last_session
    from heartbeat h
   where h.worker = has_lost_session.worker and not h.is_extension
   order by h.n desc
   limit 1;
  key := session_key(last_session);
  if last_session is null or not pg_try_advisory_xact_lock_shared(key) then
    return false;
  end if;
  -- it was free, or it is this session's own
  return not exists (
    select from pg_locks l
     where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock'
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and l.objsubid = 1 and (l.classid::bigint << 32) | l.objid::bigint = key
  );
end
$$;
