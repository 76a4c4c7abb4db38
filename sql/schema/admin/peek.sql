-- Looking at messages without receiving them. Nothing is written, nothing is locked but ACCESS SHARE; all that one call says is of one moment.
--
-- A page is read by index, whatever lies behind it: as many index entries as messages, and in each lane and segment a look. What makes it
-- read more is what it has to pass over: retries of other consumers, what has expired, and, of the delayed messages, which are stored together,
-- those of other queues.

-- A message that is looked at. due_at: it is delayed until then; null: it is not. consumer: it is for that one alone; null: for all.
-- position: give it as after to peek, to look at what comes behind.
create type peeked_message as (
  message_id bigint,
  attempt int,
  consumer text,
  due_at timestamptz,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz,
  expires_at timestamptz,
  -- null on a queue that has none
  priority int,
  key text,
  "position" text
);

-- Looks at up to max_messages (1 to 1000, default 10) messages, from the position after on (one that peek has returned; null: from the beginning).
-- With a consumer: what it has not received and what has not expired, in the order in which it would: higher priorities first, and lane by lane
-- where it takes turns. What is in an open batch has been received: see find_message. Without a consumer: everything that is kept, whoever
-- has received it, the oldest first. Then what is delayed, in the order in which it becomes due.
-- Errors: PQ001 no such queue, PQ002 no such consumer, PQ004 an argument out of range.
create function peek(queue text, consumer text default null, after text default null, max_messages int default 10) returns setof peeked_message
language plpgsql
stable
security definer
set search_path from current
as $$
#variable_conflict use_variable
declare
  of_queue constant int := require_queue(queue);
  of_consumer constant int := case when consumer is not null then require_consumer(of_queue, consumer) end;
  place constant record := peek_position(after);
  looked_at int := 0;
begin
  perform require_same_cluster(), check_max_messages(max_messages, 1000);
  if place.source is null then
    return query select * from peek_segments(of_queue, of_consumer, place.lane, place.txid, place.seq, max_messages);
    get diagnostics looked_at = row_count;
  end if;
  return query
    select (d.message).*
      from unnest(delayed_tables()) with ordinality as t(source, n)
     cross join lateral peek_delayed(
       of_queue, of_consumer, t.source, t.n::int, coalesce(place.due_at, '-infinity'),
       case when t.n < place.source then 9223372036854775807 when t.n = place.source then place.seq else -1 end, max_messages - looked_at
     ) d
     order by (d.message).due_at, t.n, d.seq
     limit max_messages - looked_at;
end
$$;

-- What a position says: the lane and the (txid, seq) of a message in the segments, 3.1234.77, or the number of a delayed table, the time in
-- microseconds and the seq there, delayed.1.1767225600000000.5.
create function peek_position(
  "position" text, out lane int, out txid xid8, out seq bigint, out source int, out due_at timestamptz
)
language plpgsql
immutable
set search_path from current
as $$
declare
  parts text[];
begin
  if "position" is null then
    return;
  end if;
  if "position" ~ '^[0-9]{1,4}[.][0-9]{1,19}[.][0-9]{1,19}$' then
    parts := string_to_array("position", '.');
    lane := parts[1]::int;
    txid := parts[2]::xid8;
    seq := parts[3]::bigint;
    return;
  elsif "position" ~ '^delayed[.][1-4][.]-?[0-9]{1,16}[.][0-9]{1,19}$' then
    parts := string_to_array("position", '.');
    source := parts[2]::int;
    due_at := 'epoch'::timestamptz + parts[3]::bigint * interval '1 microsecond';
    seq := parts[4]::bigint;
    return;
  end if;
  raise exception numeric_value_out_of_range;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected after to be a position that peek has returned, got: %L', left("position", 100)),
      hint = 'Leave it out to begin with the first message.';
end
$$;

-- What lies in the segments, for everybody or for one consumer. lane, txid and seq: where to go on from; null: from the beginning.
create function peek_segments(queue_id int, consumer_id int, lane int, txid xid8, seq bigint, max_messages int) returns setof peeked_message
language plpgsql
stable
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set max_parallel_workers_per_gather = 0
as $$
declare
  lane_by constant text := (select q.lane_by from queue q where q.id = queue_id);
  holes jsonb := jsonb_build_object('queue', queue_id, 'priority', case when lane_by = 'priority' then 'm.lane::int' else 'null::int' end);
begin
  if consumer_id is not null then
    holes := holes || jsonb_build_object(
      'cursors', cursors_query(queue_id),
      'turn', case when lane_by = 'priority' then '-p.lane' else 'p.lane' end,
      'first_turn', case when lane_by = 'priority' then '-$3' else '$3' end,
      'limited', 'and (m.consumer_id is null or m.consumer_id = $1) and (m.expires_at is null or m.expires_at > clock_timestamp()) '
        || not_cancelled(queue_id, qualified('(select c.name from {schema}.consumer c where c.id = $1)')) || ' order by m.lane, m.txid, m.seq limit $2',
      'range_start_of_window', range_start('w', 'p.prev'),
      'range_start_of_next', range_start('x', 'p.next')
    );
  end if;
  return query execute render($sql$
    select m.id, m.attempt::int, c.name, null::timestamptz, m.type, m.payload, m.headers, m.created_at, m.expires_at,
           ${priority}, m.key, format('%s.%s.%s', m.lane, m.txid, m.seq)
      from (
        $sql$ || indent(case when consumer_id is null then kept_messages() else unreceived_messages() end, 8) || $sql$
      ) m
      left join {schema}.consumer c on c.id = m.consumer_id
     order by m.turn, m.is_next, m.txid, m.seq
  $sql$, holes) using consumer_id, max_messages, lane, coalesce(txid, '0'), coalesce(seq, -1);
end
$$;

-- Part of a template: a page of everything that is kept. $2: how many, $4 and $5: after which (txid, seq).
create function kept_messages() returns text
language sql
immutable
return $sql$select m.*, 0 as turn, false as is_next
  from (select q.lanes from {schema}.queue q where q.id = ${queue}) q
 cross join generate_series(0, q.lanes - 1) as l(lane)
 cross join lateral (
   select *
     from {schema}.message_${queue} m
    where m.lane = l.lane
      and (m.txid, m.seq) > ($4, $5)
      -- a retry for a consumer that is gone is for nobody
      and (m.consumer_id is null or exists (select from {schema}.consumer c where c.id = m.consumer_id))
    order by m.lane, m.txid, m.seq
    limit $2
 ) m
 order by m.txid, m.seq
 limit $2$sql$;

-- Part of a template: a page of what a consumer has not received. $1: the consumer, $2: how many, $3, $4 and $5: after which lane and (txid, seq) in it.
-- First comes what is left of the window, then what a new one would hold, each with its late messages first: see receive/receive.sql. Where to
-- go on is told by the cursor of the moment, so a page goes on rightly too where the consumer has received meanwhile.
create function unreceived_messages() returns text
language sql
immutable
return $sql$select m.*, p.turn
  from (
    select p.*, ${turn} as turn, coalesce(p.lane = $3, false) as goes_on
      from (
        ${cursors}
      ) p
  ) p
 cross join lateral (select case when p.goes_on then $4 else '0' end as last_txid, case when p.goes_on then $5 else -1 end as last_seq) f
 cross join lateral (select not pg_visible_in_snapshot(f.last_txid, p.next) as is_next) g
  -- after which message in what is left of the window, …
 cross join lateral (
   select case when (f.last_txid, f.last_seq) > (p.last_txid, p.last_seq) then f.last_txid else p.last_txid end as last_txid,
          case when (f.last_txid, f.last_seq) > (p.last_txid, p.last_seq) then f.last_seq else p.last_seq end as last_seq
 ) w
  -- … and in what a new one would hold
 cross join lateral (
   select case when g.is_next then f.last_txid else '0' end as last_txid, case when g.is_next then f.last_seq else -1 end as last_seq
 ) x
 cross join lateral (
   (
     select false as is_next, m.*
       from pg_snapshot_xip(p.prev) as late(txid)
      cross join lateral (
        select * from {schema}.message_${queue} m
         where m.lane = p.lane and m.txid = late.txid and (m.txid, m.seq) > (w.last_txid, w.last_seq) ${limited}
      ) m
      where not g.is_next and not p.exhausted and late.txid >= w.last_txid and pg_visible_in_snapshot(late.txid, p.next)
   )
   union all
   (
     select false, m.* from (
       select * from {schema}.message_${queue} m
        where m.lane = p.lane and (m.txid, m.seq) > ${range_start_of_window} and m.txid < pg_snapshot_xmax(p.next) and pg_visible_in_snapshot(m.txid, p.next) ${limited}
     ) m
      where not g.is_next and not p.exhausted
   )
   union all
   (
     select true, m.*
       from pg_snapshot_xip(p.next) as late(txid)
      cross join lateral (
        select * from {schema}.message_${queue} m
         where m.lane = p.lane and m.txid = late.txid and (m.txid, m.seq) > (x.last_txid, x.last_seq) ${limited}
      ) m
      where late.txid >= x.last_txid
   )
   union all
   (
     select true, m.* from (
       select * from {schema}.message_${queue} m where m.lane = p.lane and (m.txid, m.seq) > ${range_start_of_next} ${limited}
     ) m
   )
 ) m
 where $3 is null or p.turn >= ${first_turn}
 order by p.turn, m.is_next, m.txid, m.seq
 limit $2$sql$;

-- What waits in one table of delayed messages, for everybody or for one consumer, after (due_at, seq). n: the number of the table.
create function peek_delayed(
  queue_id int, consumer_id int, source text, n int, after_due_at timestamptz, after_seq bigint, max_messages int
) returns table (seq bigint, message peeked_message)
language plpgsql
stable
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set max_parallel_workers_per_gather = 0
as $$
declare
  moved constant delayed_position := delayed_position(source);
  wanted constant text := format(qualified($sql$
    d.queue_uid = (select q.uid from {schema}.queue q where q.id = $1)
    and case when $2 is null then d.consumer_id is null or exists (select from {schema}.consumer c where c.id = d.consumer_id)
          else (d.consumer_id is null or d.consumer_id = $2) and (d.expires_at is null or d.expires_at > clock_timestamp()) end
    %s
  $sql$), case when allows_cancel(queue_id) then format(qualified($sql$
    and not exists (
      select from {schema}.%I x
       where x.queue_uid = d.queue_uid and x.message_id = d.id
         and (x.consumer is null or x.consumer = (select c.name from {schema}.consumer c where c.id = $2))
    )
  $sql$), 'cancelled_' || source) end);
begin
  return query execute render($sql$
    select d.seq, row(
             d.id, d.attempt::int, c.name, d.due_at, d.type, d.payload, d.headers, d.created_at, d.expires_at,
             case when q.lane_by = 'priority' then d.lane::int end, d.key,
             format('delayed.%s.%s.%s', $9, (extract(epoch from d.due_at) * 1000000)::bigint, d.seq)
           )::{schema}.peeked_message
      from (
        (
          select d.* from {schema}.${source:I} d
           where (d.due_at, d.seq) > (greatest($6, $3), case when $6 > $3 then $7 when $6 < $3 then $4 else greatest($7, $4) end) and ${wanted}
           order by d.due_at, d.seq
           limit $5
        )
        union all
        -- what was not visible yet when the table was moved up to there
        select d.* from pg_snapshot_xip(($8).snapshot) as late(txid) join {schema}.${source:I} d on d.txid = late.txid
         where not {schema}.is_moved($8, d.txid, d.due_at, d.seq) and (d.due_at, d.seq) <= ($6, $7) and (d.due_at, d.seq) > ($3, $4) and ${wanted}
        union all
        select d.* from {schema}.${source:I} d
         where d.txid >= pg_snapshot_xmax(($8).snapshot) and not {schema}.is_moved($8, d.txid, d.due_at, d.seq) and (d.due_at, d.seq) <= ($6, $7) and (d.due_at, d.seq) > ($3, $4) and ${wanted}
      ) d
     cross join (select q.lane_by from {schema}.queue q where q.id = $1) q
      left join {schema}.consumer c on c.id = d.consumer_id
     order by d.due_at, d.seq
     limit $5
  $sql$, jsonb_build_object('source', source, 'wanted', wanted))
    using queue_id, consumer_id, after_due_at, after_seq, max_messages, moved.due_at, moved.seq, moved, n;
end
$$;
