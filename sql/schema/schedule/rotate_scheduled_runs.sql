-- Truncates the table of runs that rests, an hour after the last of them has been forgotten: clocks may be set back. The last scheduled run of
-- each schedule is carried over into today's table, so that it is known however rarely the schedule runs. Never waits for its lock: the
-- next call tries again. at: now, except in tests. Returns 1 when it has truncated.
create function rotate_scheduled_runs(at timestamptz default clock_timestamp()) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := scheduled_run_segment(at);
  resting constant int := (current_segment + 2) % 4;
begin
  if pg_relation_size(relation(format('scheduled_run_%s', resting))) = 0
     or scheduled_run_segment(at - scheduled_run_memory() - interval '1 hour') = resting
     or not pg_try_advisory_xact_lock(lock_key('schedule', 0)) then
    return 0;
  end if;
  execute format(qualified('lock table only {schema}.scheduled_run_%s in access exclusive mode nowait'), resting);
  execute render($sql$
    insert into {schema}.scheduled_run_${current} (segment, schedule, run_at, sent_at)
    select ${current}, f.schedule, f.run_at, f.sent_at
      from {schema}.schedule s
     cross join lateral (select l.* from {schema}.scheduled_run_${resting} l where l.schedule = s.name order by l.run_at desc limit 1) f
     where not exists (select from {schema}.scheduled_run o where o.segment <> ${resting} and o.schedule = f.schedule and o.run_at >= f.run_at)
  $sql$, jsonb_build_object('resting', resting, 'current', current_segment));
  execute format(qualified('truncate only {schema}.scheduled_run_%s'), resting);
  return 1;
exception
  when lock_not_available then
    return 0;
end
$$;
