-- Growing the ring of a queue: when no segment is empty, because a consumer lags or a reader holds a lock.

-- What maintenance could not do for a queue. Recovery and delivery go on without it; doctor shows it.
create table maintenance_problem (
  queue_id int not null references queue on delete cascade,
  failed_at timestamptz not null default clock_timestamp(),
  step text not null check (step in ('grow', 'truncate')),
  code text not null,
  message text not null,
  primary key (queue_id, step, failed_at)
);

comment on table maintenance_problem is 'Steps of maintenance that failed: written at most once a minute for a queue, less and less often.';

-- Remembers that a step failed, and warns.
create function note_problem(queue_id int, step text, code text, message text) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  insert into maintenance_problem (queue_id, step, code, message)
  values (note_problem.queue_id, note_problem.step, note_problem.code, note_problem.message);
  raise warning using
    errcode = note_problem.code,
    message = format('queue %s: %s failed: %s', (select quote_literal(q.name) from queue q where q.id = note_problem.queue_id),
      case note_problem.step when 'grow' then 'adding a segment' else 'truncating a segment' end, note_problem.message),
    hint = 'Sending, receiving, delivery and recovery go on; the space of the queue grows until this is mended.';
end
$$;

-- A step that failed is tried again after a minute, then after twice the time each, up to an hour.
create function is_backing_off(queue_id int, step text) returns boolean
language sql
volatile
set search_path from current
begin atomic
  select coalesce((
    select clock_timestamp() between last.failed_at and last.failed_at + case
             when last.failed_at - before.failed_at < interval '2 hours' then least(2 * (last.failed_at - before.failed_at), interval '1 hour')
             else interval '1 minute'
           end
      from (
        select p.failed_at from maintenance_problem p
         where p.queue_id = is_backing_off.queue_id and p.step = is_backing_off.step order by p.failed_at desc limit 1
      ) last
      left join lateral (
        select p.failed_at from maintenance_problem p
         where p.queue_id = is_backing_off.queue_id and p.step = is_backing_off.step and p.failed_at < last.failed_at order by p.failed_at desc limit 1
      ) before on true
  ), false);
end;

-- What has failed and has not been done since: the pointer has not moved to another segment.
create function maintenance_problems() returns table (queue_name text, step text, failed_at timestamptz, code text, message text)
language sql
volatile
security definer
set search_path from current
begin atomic
  select q.name, p.step, p.failed_at, p.code, p.message
    from queue q
   cross join lateral (
     select distinct on (m.step) m.step, m.failed_at, m.code, m.message
       from maintenance_problem m where m.queue_id = q.id order by m.step, m.failed_at desc
   ) p
   where p.failed_at > pointer_moved_at(pg_sequence_last_value(relation(format('segment_pointer_%s', q.id))))
   order by q.name, p.step;
end;

-- The ring may have another segment. By bytes alone: a queue of few messages that nobody receives would add one for each rotation_period.
-- And only when the current segment holds as much as all others together: every segment costs each receive a look, so their number grows
-- with the logarithm of what is kept. 1,024 is what a batch id can name.
create function ring_may_grow(queue_id int, current_segment int, ring ring_segment[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  current_bytes constant bigint := (select r.message_bytes from unnest(ring) as r where r.segment = current_segment);
begin
  return current_bytes >= (select q.rotation_bytes from queue q where q.id = ring_may_grow.queue_id)
     and current_bytes >= (select sum(r.message_bytes) from unnest(ring) as r where r.segment <> current_segment)
     and cardinality(ring) < 1024
     and not is_backing_off(queue_id, 'grow');
end
$$;

-- Adds a segment; the pointer moves to it in a later transaction. Gives up when receivers are in its way, or whoever changes the registry: a
-- migration holds that lock too, and a segment made beside it would be one of the version before.
create function grow_ring(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
begin
  if not pg_try_advisory_xact_lock_shared(lock_key('registry', 0)) then
    return false;
  end if;
  perform create_segment(queue_id, segment);
  perform generate_functions(queue_id);
  return true;
exception
  when lock_not_available then
    return false;
  when others then
    -- an event trigger, a right that is gone, no room for locks: not a reason to stop recovery and delivery
    perform note_problem(grow_ring.queue_id, 'grow', sqlstate, sqlerrm);
    return false;
end
$$;
