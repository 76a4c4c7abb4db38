-- Recovery: batches whose lease has ended are finished in their worker's place, and what they left unsettled is given back, as
-- settle/lost.sql says. A lease ends at the later of the batch's own end and the last heartbeat of its worker, or at once when the
-- worker's session is over. Each call looks at some 1,000 open batches of a cursor, and stops after a quarter of a second: the rest is for the next. Batches of exclusive and ordered
-- consumers stay in their place; for them, workers are woken: see receive/exclusive.sql and receive/ordered.sql.

create function recover(queue_id int, positions consumer_position[] default null) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  batch bigint;
  recovered int := 0;
  started constant timestamptz := clock_timestamp();
begin
  for batch in
    with open as materialized (
      select b.*
        from open_batches(queue_id, null, open_looked_at(), positions) b
        join consumer c on c.id = b.consumer_id
       where c.mode = 'shared'
    ),
    worker as materialized (
      select w.name, is_alive(w.name) as alive, has_lost_session(w.name) as gone
        from (select distinct o.worker from open o where o.worker is not null) w(name)
    )
    select o.batch_id
      from open o
      left join worker w on w.name = o.worker
     where w.gone or (o.lease_until < clock_timestamp() and w.alive is not true)
     order by o.first_txid, o.first_seq
  loop
    recovered := recovered + recover_batch(batch)::int;
    exit when clock_timestamp() - started > interval '250 ms';
  end loop;
  if (select q.paused from queue q where q.id = recover.queue_id) then
    return recovered;
  end if;
  if exists (select from consumer c where c.queue_id = recover.queue_id and c.mode <> 'shared') and exists (
    select from open_batches(queue_id, null, open_looked_at(), positions) b
      join consumer c on c.id = b.consumer_id and not c.paused
     where c.mode <> 'shared' and can_be_taken_over(b.worker, b.lease_until, b.waits_until)
  ) then
    perform wake(queue_id);
  elsif exists (
    -- a limit may have kept something from a worker that sleeps by now
    select from consumer c
     where c.queue_id = recover.queue_id and coalesce(c.max_in_flight, c.max_in_flight_per_key, c.rate_limit) is not null and not c.paused
       and not segment_is_received(recover.queue_id, null, c.id)
  ) then
    perform wake(queue_id);
  end if;
  return recovered;
end
$$;

-- Takes one batch away from its worker. False: a transaction that is about to settle it is still open, or somebody was faster.
create function recover_batch(batch_id bigint) returns boolean
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  state record;
  lost requeued[];
  is_free boolean;
begin
  -- a transaction that settles it and stays open is passed over without a wait: many of them would keep recovery from all that come after
  execute format(qualified('select true from {schema}.batch_%s_%s b where b.id = $1 for no key update skip locked'), batch_queue(batch_id), batch_segment(batch_id))
    into is_free using batch_id;
  if is_free is not true then
    return false;
  end if;
  state := batch_state(batch_id);
  lost := lost_messages(batch_id, state.settled);
  -- the outcome first: a worker that settles the batch from now on finds it finished
  if state.final or not append_outcome(batch_id, state.last_n + 1, true, array(select l.message_id from unnest(lost) as l)) then
    return false;
  end if;
  perform requeue(batch_id, lost);
  return true;
exception
  when lock_not_available then
    return false;
end
$$;
