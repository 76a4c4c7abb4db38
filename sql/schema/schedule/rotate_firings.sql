-- Truncates the table of firings that rests, an hour after the last of them has been forgotten: clocks may be set back. The last firing of
-- each schedule is carried over into today's table, so that it is known however rarely the schedule fires. Never waits for its lock: the
-- next call tries again. at: now, except in tests. Returns 1 when it has truncated.
create function rotate_firings(at timestamptz default clock_timestamp()) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := firing_segment(at);
  resting constant int := (current_segment + 2) % 4;
begin
  if pg_relation_size(relation(format('firing_%s', resting))) = 0
     or firing_segment(at - firing_memory() - interval '1 hour') = resting
     or not pg_try_advisory_xact_lock(lock_key('firings', 0)) then
    return 0;
  end if;
  execute format(qualified('lock table only {schema}.firing_%s in access exclusive mode nowait'), resting);
  execute format(qualified($sql$
    insert into {schema}.firing_%2$s (segment, schedule, fire_at, fired_at)
    select %2$s, f.schedule, f.fire_at, f.fired_at
      from {schema}.schedule s
     cross join lateral (select l.* from {schema}.firing_%1$s l where l.schedule = s.name order by l.fire_at desc limit 1) f
     where not exists (select from {schema}.firing o where o.segment <> %1$s and o.schedule = f.schedule and o.fire_at >= f.fire_at)
  $sql$), resting, current_segment);
  execute format(qualified('truncate only {schema}.firing_%s'), resting);
  return 1;
exception
  when lock_not_available then
    return 0;
end
$$;
