-- Looking at what is sent while it is sent, without receiving it. Nothing is written, nothing is locked but ACCESS SHARE, nothing waits for who
-- looks: what was received by all and truncated before it was looked at is not shown.
--
-- Messages cannot be tailed by their place in the log: a transaction that began earlier may commit later, and its messages lie before what has
-- been shown. So a reader keeps a snapshot, as a cursor does: what it did not see and the next one does is new.

-- The messages that became visible after a position, the oldest first, and the position to go on from. after null: the last messages that are
-- kept, to begin with. Retries are not shown, they are one consumer's; a delayed message is once it has become due. When there are
-- max_messages (1 to 1000) call again, there may be more. Errors: PQ001 no such queue, PQ004 an argument out of range.
create function tail(
  queue text, after text default null, max_messages int default 100, out "position" text, out messages peeked_message[]
)
language plpgsql
stable
security definer
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_variable
declare
  of_queue constant int := require_queue(queue);
  place constant record := tail_position(after);
  until constant pg_snapshot := coalesce(place.until, snapshot_now());
  last_place text;
begin
  perform require_same_cluster(), check_max_messages(max_messages, 1000);
  execute render($sql$
    select coalesce(array_agg(
             row(
               m.id, m.attempt::int, null::text, null::timestamptz, m.type, m.payload, m.headers, m.created_at, m.expires_at,
               case when m.lane_by = 'priority' then m.lane::int end, m.key, format('%s.%s.%s', m.lane, m.txid, m.seq)
             )::{schema}.peeked_message
             order by m.txid, m.seq
           ), '{}'),
           case when count(*) = $1 then (array_agg(format('%s.%s', m.txid, m.seq) order by m.txid desc, m.seq desc))[1] end
      from (
        select q.lane_by, m.*
          from {schema}.queue q
         cross join generate_series(0, q.lanes - 1) as l(lane)
         cross join lateral (${messages}) m
         where q.id = ${queue}
         order by m.txid ${direction}, m.seq ${direction}
         limit $1
      ) m
  $sql$, jsonb_build_object(
    'queue', of_queue,
    'messages', case when after is null then last_messages(of_queue) else messages_between(of_queue) end,
    'direction', case when after is null then 'desc' else '' end
  ))
    into messages, last_place using max_messages, place.since, until, coalesce(place.txid, '0'), coalesce(place.seq, -1);
  "position" := case when after is null or last_place is null then until::text else concat_ws('/', place.since, until, last_place) end;
end
$$;

-- What a position says: the snapshot of which everything has been shown, 812:815:813; while a page after it was full also the next one, and
-- the (txid, seq) of the last message that was shown, 812:815:813/820:820:/817.5.
create function tail_position(
  "position" text, out since pg_snapshot, out until pg_snapshot, out txid xid8, out seq bigint
)
language plpgsql
immutable
set search_path from current
as $$
declare
  parts constant text[] := string_to_array("position", '/');
begin
  if "position" is null then
    return;
  elsif cardinality(parts) not in (1, 3) then
    raise exception numeric_value_out_of_range;
  end if;
  since := parts[1]::pg_snapshot;
  if cardinality(parts) = 3 then
    until := parts[2]::pg_snapshot;
    txid := split_part(parts[3], '.', 1)::xid8;
    seq := split_part(parts[3], '.', 2)::bigint;
  end if;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected after to be a position that follow has returned, got: %L', left("position", 100)),
      hint = 'Leave it out to begin with the last messages.';
end
$$;

-- The query for the last messages of a lane. $1: how many, $3: the snapshot that sees them.
create function last_messages(queue_id int) returns text
language sql
stable
return render($sql$
  select m.* from {schema}.message_${queue} m
   where m.lane = l.lane and m.consumer_id is null and pg_visible_in_snapshot(m.txid, $3)
   order by m.lane desc, m.txid desc, m.seq desc
   limit $1
$sql$, jsonb_build_object('queue', queue_id));

-- The query for a page of what $3 sees of a lane and $2 did not. $1: how many, $4 and $5: after which (txid, seq).
create function messages_between(queue_id int) returns text
language sql
stable
return render($sql$
  select m.*
    from pg_snapshot_xip($2) as late(txid)
   cross join lateral (
     select * from {schema}.message_${queue} m
      where m.lane = l.lane and m.txid = late.txid and (m.txid, m.seq) > ($4, $5) and m.consumer_id is null and pg_visible_in_snapshot(m.txid, $3)
      order by m.lane, m.txid, m.seq
      limit $1
   ) m
  union all
  (
    select * from {schema}.message_${queue} m
     where m.lane = l.lane
       and (m.txid, m.seq) > (case when $4 < pg_snapshot_xmax($2) then pg_snapshot_xmax($2) else $4 end, case when $4 < pg_snapshot_xmax($2) then -1 else $5 end)
       and m.txid < pg_snapshot_xmax($3)
       and m.consumer_id is null
       and pg_visible_in_snapshot(m.txid, $3)
     order by m.lane, m.txid, m.seq
     limit $1
  )
$sql$, jsonb_build_object('queue', queue_id));
