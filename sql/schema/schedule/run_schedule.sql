-- A scheduled run: sending the message of a schedule for one of its times, once, however many workers ask for it.
--
-- A scheduled run is an INSERT that is unique in (schedule, time), in the transaction that sends the message. A unique constraint does not span
-- a ring of tables, so the time itself says which of the four it goes into: its day, modulo four. Two calls for one time always meet in
-- one table, nothing has to be moved on, and no rotation comes between them. Three of the tables are in use: today's, yesterday's, and
-- tomorrow's shortly before midnight. The fourth rests and is truncated (schedule/rotate_scheduled_runs.sql).
create table scheduled_run (
  segment int not null,
  -- by name: a scheduled run outlives its schedule
  schedule text not null,
  run_at timestamptz not null,
  sent_at timestamptz not null default clock_timestamp(),
  primary key (schedule, run_at, segment)
) partition by list (segment);

create table scheduled_run_0 partition of scheduled_run for values in (0) with (autovacuum_enabled = off);
create table scheduled_run_1 partition of scheduled_run for values in (1) with (autovacuum_enabled = off);
create table scheduled_run_2 partition of scheduled_run for values in (2) with (autovacuum_enabled = off);
create table scheduled_run_3 partition of scheduled_run for values in (3) with (autovacuum_enabled = off);

comment on table scheduled_run is 'The times for which schedules have been run.';

-- For so long a scheduled run is remembered, and so long ago may be what is run now.
create function scheduled_run_memory() returns interval
language sql
immutable
return interval '1 day';

-- Which of the four tables a time belongs to.
create function scheduled_run_segment(run_at timestamptz) returns int
language plpgsql
immutable
set search_path from current
as $$
begin
  return (floor(extract(epoch from run_at) / extract(epoch from scheduled_run_memory()))::bigint % 4)::int;
end
$$;

create function check_run_at(run_at timestamptz) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if run_at is null or run_at <> date_trunc('second', run_at) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected run_at to be a whole second, got: %s', coalesce(run_at::text, 'NULL')),
      hint = 'It is the time that the cron expression names, the same for every worker, not the time of the call.';
  end if;
  if run_at < clock_timestamp() - scheduled_run_memory() then
    raise exception using
      errcode = 'PQ004',
      message = format('expected run_at to be at most %s ago, got: %s', scheduled_run_memory(), run_at),
      hint = 'Nobody remembers whether that was run. If it is to be made up for, send its message.';
  end if;
  if run_at > clock_timestamp() + interval '1 min' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected run_at to have come, got: %s', run_at),
      hint = format('The server''s clock says %s, and a minute ahead of it is allowed.', clock_timestamp());
  end if;
end
$$;

-- Sends the message of a schedule for one of its times, and returns its id. For whoever may send to its queue or receive from it. NULL: it has been run for that time, or is disabled. Waits
-- for the transaction of whoever is just running it, and does it in its stead if that rolls back. Any isolation level.
-- The message has the headers "schedule", the name, and "run_at", the time in UTC, beside those of the schedule.
-- run_at: a whole second, at most a day ago (scheduled_run_memory) and a minute ahead. What was missed while no worker ran is run by calling this
-- with the time of it; schedules() says when the last one was. Errors: PQ004 no such schedule, or a time out of range.
create function run_schedule(name text, run_at timestamptz, caller caller default current_user) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  run schedule;
begin
  perform check_run_at(run_at);
  select * into run from schedule s where s.name = run_schedule.name;
  if run.name is null then
    raise exception using
      errcode = 'PQ004',
      message = format('schedule not found: %s', coalesce(quote_literal(name), 'NULL')),
      hint = 'Create it with schedule(name, queue, cron).';
  end if;
  perform require_use(caller, run.queue_id);
  if not run.enabled or not record_scheduled_run(name, run_at) then
    return null;
  end if;
  return send(
    (select q.name from queue q where q.id = run.queue_id),
    run.type,
    run.payload,
    scheduled_send_options(name, run.send_options, run_at)
  );
end
$$;

create function scheduled_run_key(schedule text, run_at timestamptz) returns bigint
language sql
stable
set search_path from current
return hashtextextended(extract(epoch from run_at)::bigint || '/' || schedule, lock_seed('scheduled run', 0));

-- Records a scheduled run; false: it is recorded already.
--
-- The advisory lock lets one at a time look and insert: a loser inserts nothing, where ON CONFLICT would count its row as deleted. Only one
-- whose snapshot is older than the other's commit runs into the constraint. The table's lock keeps truncation off, and the time is judged
-- under it: a scheduled run that is young enough now has not been truncated away.
create function record_scheduled_run(schedule text, run_at timestamptz) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  segment constant int := scheduled_run_segment(run_at);
  recorded boolean;
begin
  perform pg_advisory_xact_lock(scheduled_run_key(schedule, run_at));
  execute format(qualified('lock table only {schema}.scheduled_run_%s in row exclusive mode'), segment);
  perform check_run_at(run_at);
  execute format(qualified('select exists (select from {schema}.scheduled_run_%s f where f.schedule = $1 and f.run_at = $2)'), segment) into recorded using schedule, run_at;
  if recorded then
    return false;
  end if;
  execute format(qualified('insert into {schema}.scheduled_run_%1$s (segment, schedule, run_at) values (%1$s, $1, $2)'), segment) using schedule, run_at;
  return true;
exception
  when unique_violation then
    return false;
end
$$;

-- Schedules, by name, of one queue or of all that the caller may receive from or look at. payload, type and options are what a scheduled run sends.
-- last_run_at: the latest time for which it was run, null: never. What came after it, and after changed_at, has been missed; of that the
-- latest `catch_up` times are to be run by whoever finds them, besides those that have just come. One of the two seconds ahead: the
-- clock has stepped back since. Then what came in the last minute is to be run, which does nothing where it has been.
create function schedules(queue text default null, caller caller default current_user) returns table (
  name text,
  queue_name text,
  cron text,
  time_zone text,
  type text,
  payload text,
  options jsonb,
  catch_up int,
  enabled boolean,
  created_at timestamptz,
  changed_at timestamptz,
  last_run_at timestamptz
)
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform viewable_queue(caller, queue);
  return query
    select s.name, q.name, s.cron, s.time_zone, s.type, s.payload, s.send_options, s.catch_up, s.enabled, s.created_at, s.changed_at,
           (select max(f.run_at) from scheduled_run f where f.schedule = s.name)
      from schedule s
      join queue q on q.id = s.queue_id
     where (schedules.queue is null or q.name = schedules.queue)
       and (may_view(caller) or may_receive(caller, q.id))
     order by s.name;
end
$$;
