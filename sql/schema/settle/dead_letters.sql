-- Looking at dead letters, sending them again, throwing them away: what operators do. The only DELETEs outside the registry,
-- with deliver_delayed.
--
-- Which ones is said in one vocabulary: ids; consumer, the name it died for, also of one that is gone; type_name; reason_like, a LIKE pattern;
-- died_after (or at that time) and died_before. What is left out, or null, excludes none. They are read by (queue, id), so
-- a page costs what it passes over, and ids cost a look each.

-- A dead letter as people see it.
create type listed_dead_letter as (
  id bigint,
  consumer text,
  message_id bigint,
  attempt int,
  type text,
  payload text,
  headers jsonb,
  -- null on a queue that has none
  priority int,
  key text,
  reason text,
  created_at timestamptz,
  died_at timestamptz
);

-- The condition for a dead letter d of a queue, with those filters alone that are given. $1 to $6: the filters, in this order.
create function dead_letter_filter(
  ids bigint[], consumer text, type_name text, reason_like text, died_after timestamptz, died_before timestamptz
) returns text
language plpgsql
immutable
set search_path from current
as $$
begin
  if reason_like ~ E'(^|[^\\\\])(\\\\\\\\)*\\\\$' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected reason_like to be a LIKE pattern, which does not end with a single backslash, got: %L', left(reason_like, 100)),
      hint = E'Write \\\\ for a backslash, \\% for a percent sign.';
  end if;
  return 'true'
    || case when ids is null then '' else ' and d.id = any ($1)' end
    || case when consumer is null then '' else ' and d.consumer = $2' end
    || case when type_name is null then '' else ' and d.type = $3' end
    || case when reason_like is null then '' else ' and d.reason like $4' end
    || case when died_after is null then '' else ' and d.died_at >= $5' end
    || case when died_before is null then '' else ' and d.died_at < $6' end;
end
$$;

-- The condition for a dead letter d to be of a queue, where they are taken oldest first by (queue_id, id): as a range, which the index on id
-- alone does not help with, since it would be read from the oldest of all queues on. ids are looked up.
create function dead_letter_queue(queue_id int, ids bigint[]) returns text
language sql
immutable
set search_path from current
as $$
  select case when ids is null then format('d.queue_id between %1$s and %1$s', queue_id) else format('d.queue_id = %s', queue_id) end
$$;

-- Up to max_messages (1 to 1000, default 100) dead letters of a queue, newest first. before_id: only those before this one, for the next page.
-- Errors: PQ001 no such queue, PQ004 an argument out of range.
create function dead_letters(
  queue text,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_after timestamptz default null,
  died_before timestamptz default null,
  before_id bigint default null,
  max_messages int default 100
) returns setof listed_dead_letter
language plpgsql
stable
security definer
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  perform check_max_messages(max_messages, 1000);
  return query execute render($sql$
    select d.id, d.consumer, d.message_id, d.attempt, d.type, d.payload, d.headers,
           case when (select q.lane_by from {schema}.queue q where q.id = ${queue}) = 'priority' then d.lane::int end, d.key, d.reason, d.created_at, d.died_at
      from {schema}.dead_letter d
     where d.queue_id = ${queue}
       and ${filter}
       and d.id < $7
     order by d.queue_id desc, d.id desc
     limit $8
  $sql$, jsonb_build_object(
    'queue', of_queue,
    'filter', dead_letter_filter(null, consumer, type_name, reason_like, died_after, died_before)
  ))
    using null::bigint[], consumer, type_name, reason_like, died_after, died_before, coalesce(before_id, 9223372036854775807), max_messages;
end
$$;

-- Sends dead letters again, to the consumer they died for, from their first attempt: those that the filters choose, all of the queue without
-- any, up to max_messages (1 to 100000) of them, the oldest first. Returns how many; those of consumers that are gone stay.
-- Errors: PQ001 no such queue, PQ004 an argument out of range.
create function redrive(
  queue text,
  ids bigint[] default null,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_after timestamptz default null,
  died_before timestamptz default null,
  max_messages int default 100000
) returns int
language plpgsql
volatile
security definer
set search_path from current
-- as many are read as are taken, however many there are
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  of_queue constant int := require_queue(queue);
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', of_queue))));
  sent int;
begin
  perform require_same_cluster(), check_max_messages(max_messages, 100000);
  execute render($sql$
    with chosen as (
      select d.id
        from {schema}.dead_letter d
        join {schema}.consumer c on c.queue_id = ${queue} and c.name = d.consumer
       where ${of_queue}
         and ${filter}
       order by d.queue_id, d.id
       limit $7
         for update of d
    ),
    taken as (
      -- by an array, not a join: after a vacuum that found the table empty, a join would read all of it for each row
      delete from {schema}.dead_letter d where d.id = any (array(select id from chosen)) returning d.*
    ),
    sent as (
      insert into {schema}.message_${queue}_${segment} (seq, id, created_at, consumer_id, attempt, lane, key, type, payload, headers)
      select nextval('{schema}.message_seq_${queue}'), t.message_id, t.created_at,
             (select c.id from {schema}.consumer c where c.queue_id = ${queue} and c.name = t.consumer), 1,
             coalesce({schema}.lane_of_key(t.key, (select lanes from {schema}.queue where id = ${queue})), t.lane), t.key, t.type, t.payload, t.headers
        from taken t
       order by t.id
      returning 1
    )
    select count(*) from sent
  $sql$, jsonb_build_object(
    'queue', of_queue,
    'segment', current_segment,
    'of_queue', dead_letter_queue(of_queue, ids),
    'filter', dead_letter_filter(ids, consumer, type_name, reason_like, died_after, died_before)
  ))
    into sent using ids, consumer, type_name, reason_like, died_after, died_before, max_messages;
  perform wake(of_queue);
  return sent;
end
$$;

-- Throws dead letters away: those that the filters choose, all of the queue without any; with max_messages (1 to 100000) so many of them, the
-- oldest first. Returns how many.
-- Errors: PQ001 no such queue, PQ004 an argument out of range.
create function purge_dead_letters(
  queue text,
  ids bigint[] default null,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_after timestamptz default null,
  died_before timestamptz default null,
  max_messages int default null
) returns bigint
language plpgsql
volatile
security definer
set search_path from current
-- as many are read as are taken, however many there are
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  purged bigint;
begin
  if max_messages is not null then
    perform check_max_messages(max_messages, 100000);
  end if;
  execute format(qualified($sql$
    with chosen as (
      select d.id from {schema}.dead_letter d where %s and %s order by d.queue_id, d.id limit $7 for update
    )
    -- as in redrive
    delete from {schema}.dead_letter d where d.id = any (array(select id from chosen))
  $sql$), dead_letter_queue(require_queue(queue), ids), dead_letter_filter(ids, consumer, type_name, reason_like, died_after, died_before))
    using ids, consumer, type_name, reason_like, died_after, died_before, max_messages;
  get diagnostics purged = row_count;
  return purged;
end
$$;
