-- What PgQue's clients and dashboards read: its column names, and ours behind them. Ticks are none, so what counts them is null.

create function get_queue_info(queue_name text default null) returns table (
  queue_name text,
  queue_ntables int,
  queue_cur_table int,
  queue_rotation_period interval,
  queue_switch_time timestamptz,
  queue_external_ticker boolean,
  queue_ticker_paused boolean,
  queue_ticker_max_count int,
  queue_ticker_max_lag interval,
  queue_ticker_idle_period interval,
  ticker_lag interval,
  ev_per_sec float8,
  ev_new bigint,
  last_tick_id bigint,
  consumers int,
  bytes bigint,
  delayed bigint,
  dead_letters bigint
)
language sql
volatile
security definer
set search_path from current
begin atomic
  select s.queue_name, s.segments, s.current_segment, q.rotation_period, s.rotated_at, false, false, null::int, null::interval,
         null::interval, interval '0', s.sent_per_second, 0::bigint, null::bigint, s.consumers, s.bytes, s.delayed, s.dead_letters
    from queue_status(get_queue_info.queue_name) s
    join queue q on q.name = s.queue_name
   order by s.queue_name;
end;

-- lag: how long ago the oldest message was sent that can be received. current_batch: the oldest open one.
create function get_consumer_info(queue_name text default null, consumer_name text default null) returns table (
  queue_name text,
  consumer_name text,
  lag interval,
  last_seen interval,
  last_tick bigint,
  current_batch bigint,
  next_tick bigint,
  pending_events bigint,
  mode text,
  in_flight bigint,
  open_batches int
)
language sql
volatile
security definer
set search_path from current
begin atomic
  select s.queue_name, s.consumer, coalesce(clock_timestamp() - s.oldest_at, '0'), clock_timestamp() - s.received_at, null::bigint,
         (select b.batch_id from open_batches(q.id, c.id) b limit 1), null::bigint, s.depth, c.mode, s.in_flight, s.open_batches
    from consumer_status(get_consumer_info.queue_name) s
    join queue q on q.name = s.queue_name
    join consumer c on c.queue_id = q.id and c.name = s.consumer
   where get_consumer_info.consumer_name is null
      or s.consumer = get_consumer_info.consumer_name
   order by s.queue_name, s.consumer;
end;

-- What is installed and how it does, a line each: component, status (ok, info or warning) and detail.
create function status() returns table (component text, status text, detail text)
language sql
volatile
security definer
set search_path from current
begin atomic
  select 'pgque', 'info', version()
  union all
  select 'postgresql', 'info', current_setting('server_version')
  union all
  select 'maintenance', case when overdue > 0 then 'warning' else 'ok' end,
         case when overdue > 0
           then overdue || ' queues have not rotated in twice their period: does something call maintain()?'
           else 'no queue is overdue'
         end
    from (
      select count(*) as overdue
        from queue_status() s
        join queue q on q.name = s.queue_name
       where s.sent_per_second > 0 and s.rotated_at < clock_timestamp() - 2 * q.rotation_period
    ) late
  union all
  select 'locks', 'warning',
         format('%s is held by %s since %s', lock_in_words(l.purpose, l.queue_name, l.consumer),
           holder_in_words(l.pid, l.prepared_transaction, l.role_name, l.application_name), l.since)
    from held_locks() l
  union all
  select 'roles', r.status, r.detail
    from roles_of_schema() r
  union all
  select 'queue ' || s.queue_name, 'info',
         format('%s consumers, %s segments, %s, %s delayed, %s dead letters', s.consumers, s.segments, pg_size_pretty(s.bytes), s.delayed, s.dead_letters)
    from queue_status() s;
end;
