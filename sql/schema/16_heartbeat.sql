-- Workers' heartbeats: one inserted row per worker per period, whatever the number of its batches. A ring of three
-- tables; a heartbeat that has run out says nothing, so a table in which all have is truncated.
create table heartbeat (
  segment int not null,
  worker text not null,
  alive_until timestamptz not null
) partition by list (segment);

create table heartbeat_0 partition of heartbeat for values in (0) with (autovacuum_enabled = off);
create table heartbeat_1 partition of heartbeat for values in (1) with (autovacuum_enabled = off);
create table heartbeat_2 partition of heartbeat for values in (2) with (autovacuum_enabled = off);
create index heartbeat_of_worker on heartbeat (worker, alive_until);

comment on table heartbeat is 'A worker is alive until the latest of its rows says so.';

-- Which table takes heartbeats, and since when: see segment_pointer.
create sequence heartbeat_pointer minvalue 0;
select setval('heartbeat_pointer', pointer_to(0));

-- Keeps alive, for ttl from now, the lease of every batch that was received under this worker's name.
create function heartbeat(worker text, ttl interval default '15 s') returns void
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
  insert into heartbeat values (pointer_segment(pg_sequence_last_value('heartbeat_pointer')), worker, clock_timestamp() + ttl);
end
$$;
