-- Progress: how far a handler has come with a message, and what it has logged, for people who look. Written now and then while the handler runs; nothing depends
-- on it, and it is kept for a day. Three tables take turns, as with dedupe keys, results and steps.

create table progress (
  segment int not null,
  -- of the queue: its number may be given out again, this is not
  queue_uid bigint not null,
  message_id bigint not null,
  consumer text not null,
  attempt int not null,
  -- progress: the latest counts. log: a line
  kind text not null,
  -- of progress JSON, of a line its text
  value text not null,
  reported_at timestamptz not null,
  expires_at timestamptz not null
) partition by list (segment);

create table progress_0 partition of progress for values in (0) with (autovacuum_enabled = off);
create table progress_1 partition of progress for values in (1) with (autovacuum_enabled = off);
create table progress_2 partition of progress for values in (2) with (autovacuum_enabled = off);
create index progress_by_message on progress (queue_uid, message_id);

comment on table progress is 'How far handlers have come with messages, and what they have logged.';

-- Which table takes inserts, and since when: see segment_pointer.
create sequence progress_pointer minvalue 0;
select setval('progress_pointer', pointer_to(0));

-- Keeps what handlers of a consumer report, for a day: the lists have an entry for each report. What is longer than 8,000 characters is cut. Whose messages
-- they are is not looked up: who may receive from the queue may report of any.
-- Errors: PQ001 no such queue, PQ004 lists of different lengths, a kind that is neither progress nor log, more than a thousand reports.
create function report_progress(
  queue text, consumer text, message_ids bigint[], attempts int[], kinds text[], reports text[], caller caller default current_user
) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  uid constant bigint := (select q.uid from queue q where q.id = receivable_queue(caller, report_progress.queue));
begin
  if (cardinality(message_ids) <= 1000 and cardinality(attempts) = cardinality(message_ids) and cardinality(kinds) = cardinality(message_ids)
      and cardinality(reports) = cardinality(message_ids) and kinds <@ '{progress,log}'::text[] and array_position(reports, null) is null) is not true then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many attempts, kinds (progress or log) and reports as message_ids, 1000 at most, got: %s, %s, %s and %s',
        cardinality(attempts), cardinality(kinds), cardinality(reports), cardinality(message_ids));
  end if;
  perform check_name('consumer', consumer);
  insert into progress
  select pointer_segment(pg_sequence_last_value('progress_pointer')), uid, r.message_id, report_progress.consumer, r.attempt, r.kind, left(r.report, 8000),
         clock_timestamp(), clock_timestamp() + interval '1 day'
    from unnest(message_ids, attempts, kinds, reports) as r(message_id, attempt, kind, report);
end
$$;

-- What handlers have reported of a message, the oldest first: all lines, and of each attempt the latest progress.
-- Errors: PQ001 no such queue; a role without the right to receive from it or to look at all.
create function progress(queue text, message_id bigint, consumer text default 'default', caller caller default current_user)
returns table (attempt int, kind text, value text, reported_at timestamptz)
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  perform viewable_queue(caller, queue);
  return query
    with report as (
      select p.attempt, p.kind, p.value, p.reported_at, row_number() over (partition by p.attempt, p.kind order by p.reported_at desc) as n
        from progress p
       where p.queue_uid = (select q.uid from queue q where q.name = progress.queue)
         and p.message_id = progress.message_id
         and p.consumer = progress.consumer
    )
    select r.attempt, r.kind, r.value, r.reported_at
      from report r
     where r.kind = 'log' or r.n = 1
     order by r.reported_at, r.n desc;
end
$$;
