-- Schedules: messages that are sent again and again, at the times that a cron expression names.
--
-- Which times these are is the worker's business: the expression and the time zone are only stored here. A worker reads schedules(), works
-- out what is due and calls run_schedule(name, time), see schedule/run_schedule.sql; of all who do, one sends the message.

-- Changed only by people, so its UPDATEs and DELETEs do not matter.
create table schedule (
  -- runs are known by it, so a schedule that is made anew does not run again for the same time
  name text primary key check (octet_length(name) between 1 and 57),
  queue_id int not null references queue on delete cascade,
  cron text not null check (octet_length(cron) <= 200 and cron ~ '[^[:space:]]'),
  time_zone text not null,
  type text not null,
  payload text,
  -- what every scheduled run is sent with beside its own headers: headers, priority, key
  send_options jsonb not null,
  -- how many of the times that were missed are made good
  catch_up int not null check (catch_up between 0 and 1440),
  enabled boolean not null,
  created_at timestamptz not null default now(),
  -- since when it is as it is: what came before has not been missed
  changed_at timestamptz not null default now()
);

create index schedule_of_queue on schedule (queue_id);

comment on table schedule is 'Messages that are sent at the times that a cron expression names.';

-- Options of a schedule, checked as far as they can be without its queue.
create function check_schedule_options(options jsonb) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  known constant text[] := '{time_zone,type,catch_up,enabled,headers,priority,key}';
  unknown text;
  wrong text;
begin
  if jsonb_typeof(options) is distinct from 'object' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the options of a schedule to be a JSON object, got: %s', coalesce(left(options::text, 100), 'NULL'));
  end if;
  select string_agg(quote_literal(o.key), ', ') into unknown from jsonb_object_keys(options) as o(key) where o.key <> all (known);
  if unknown is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('unknown option of a schedule: %s', unknown),
      hint = format('Known options: %s.', array_to_string(known, ', '));
  end if;
  select format('expected %s to be a %s, got: %s', o.key, w.type, left(o.value::text, 100))
    into wrong
    from jsonb_each(options) as o
    join (values ('time_zone', 'string'), ('type', 'string'), ('catch_up', 'number'), ('enabled', 'boolean')) as w(key, type) using (key)
   where jsonb_typeof(o.value) <> w.type
   limit 1;
  if wrong is not null then
    raise exception using errcode = 'PQ004', message = wrong, hint = 'Leave the option out for its default.';
  end if;
  if (options ->> 'catch_up')::numeric not in (select generate_series(0, 1440)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected catch_up to be an integer from 0 to 1440, got: %s', options ->> 'catch_up'),
      hint = 'So many of the times that nobody ran are made good, the latest of them: 0 none, 1 the last one. 1440 are the minutes of a day.';
  end if;
  if not exists (select from pg_timezone_names z where z.name = coalesce(options ->> 'time_zone', 'UTC')) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected time_zone to be one that the server knows, got: %s', left(options ->> 'time_zone', 100)),
      hint = 'A name such as "Europe/Berlin", written as in pg_timezone_names.';
  end if;
end
$$;

create function check_cron(cron text) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if cron is null or octet_length(cron) > 200 or cron !~ '[^[:space:]]' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected cron to be an expression of 1 to 200 bytes, got: %s', coalesce(quote_literal(left(cron, 80)), 'NULL')),
      hint = 'For example ''0 3 * * *'' for three o''clock each night. Whoever runs the schedule reads it.';
  end if;
end
$$;

-- Creates a schedule, or makes the one of that name what is asked for; 1: it is new or has changed, 0: it was just like that, and to learn
-- that nobody needs to be an administrator who may receive from the queue: workers declare schedules at every start.
-- The payload is sent verbatim with every scheduled run. Options: time_zone (default UTC, a name of pg_timezone_names), type (default "default"),
-- headers, priority, key (as in send; default none), catch_up (how many of the times that nobody ran because no worker ran are made good, the
-- latest of them; default 1) and enabled. What is left out takes its default, but enabled stays what it was: who declares schedules at
-- every start does not undo what was switched off. Errors: PQ001 no such queue, PQ004 an argument out of range.
create function schedule(
  name text,
  queue text,
  cron text,
  payload text default null,
  options jsonb default '{}',
  caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_variable
declare
  wanted schedule;
  existing schedule;
begin
  perform check_name('schedule', name);
  perform check_cron(cron);
  perform check_schedule_options(options);
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  select * into existing from schedule s where s.name = name;
  wanted.name := name;
  wanted.queue_id := receivable_queue(caller, queue);
  wanted.cron := cron;
  wanted.time_zone := coalesce(options ->> 'time_zone', 'UTC');
  wanted.type := coalesce(options ->> 'type', 'default');
  wanted.payload := payload;
  wanted.send_options := options - '{time_zone,type,catch_up,enabled}'::text[];
  wanted.catch_up := coalesce((options ->> 'catch_up')::int, 1);
  wanted.enabled := coalesce((options ->> 'enabled')::boolean, existing.enabled, true);
  wanted.created_at := existing.created_at;
  wanted.changed_at := existing.changed_at;
  perform check_scheduled_send(wanted);
  if wanted is not distinct from existing then
    return 0;
  end if;
  perform require_admin(caller);
  wanted.created_at := coalesce(existing.created_at, now());
  wanted.changed_at := now();
  insert into schedule
  select wanted.*
  on conflict on constraint schedule_pkey do update
     set queue_id = excluded.queue_id, cron = excluded.cron, time_zone = excluded.time_zone, type = excluded.type, payload = excluded.payload,
         send_options = excluded.send_options, catch_up = excluded.catch_up, enabled = excluded.enabled, changed_at = excluded.changed_at;
  return 1;
end
$$;

create function schedule(
  name text,
  queue text,
  cron text,
  payload jsonb,
  options jsonb default '{}',
  caller caller default current_user
) returns int
language sql
return schedule(name, queue, cron, payload::text, options, caller);

-- Refuses a schedule whose message could not be sent.
create function check_scheduled_send(wanted schedule) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  settings queue;
  known text[];
begin
  select * into settings from queue q where q.id = wanted.queue_id;
  perform check_send(wanted.type, wanted.payload, settings.payload_bytes_max);
  -- what a scheduled run sends is sent at once, and once as it is
  known := array(
    select k from unnest(known_send_options(wanted.queue_id, of_batch => false)) as k where k <> all ('{delay,at,dedupe_key,dedupe_ttl}')
  );
  if not are_send_options(wanted.send_options, known) then
    perform refuse_send_options(wanted.queue_id, wanted.send_options, known);
  end if;
  if octet_length((scheduled_send_options(wanted.name, wanted.send_options, clock_timestamp()) -> 'headers')::text) > headers_bytes_max() then
    perform refuse_headers(scheduled_send_options(wanted.name, wanted.send_options, clock_timestamp()) -> 'headers');
  end if;
  perform send_priority(wanted.send_options, settings.lanes), send_key(wanted.send_options);
end
$$;

-- The options that a scheduled run of a schedule is sent with: its own, and the headers schedule and run_at.
create function scheduled_send_options(schedule text, send_options jsonb, run_at timestamptz) returns jsonb
language sql
stable
return send_options || jsonb_build_object('headers', coalesce(send_options -> 'headers', '{}') || jsonb_build_object(
  'schedule', schedule,
  'run_at', to_char(run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')));

-- Removes a schedule. 1 removed, 0 there was none. What it has sent stays. Dropping its queue removes it, too.
create function unschedule(name text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  delete from schedule s where s.name = unschedule.name;
  return found::int;
end
$$;
