-- Everything that is still known of one message: for the person who is asked what has become of it. Messages have no index by id, which would
-- cost every send, so this reads what the queue's segments keep, the dead letters of the queue and what is delayed. It writes nothing and
-- takes ACCESS SHARE alone; all that it says is of one moment.

-- One place where a message is. Which columns have something depends on the state:
--   waiting    for its consumer to receive it; null: for whoever subscribes first. due_at: its lane waits until then for one that is tried again or snoozed
--   in_flight  received, in this open batch of this worker, whose lease ends then, its last heartbeat counted
--   delayed    sent for a later time, due_at
--   retrying   failed or snoozed, and handed out again at due_at; the reason is kept with dead letters alone
--   dead       its attempts were used up, or it was buried. dead_letter_id is what redrive and purge_dead_letters take
--   settled    nothing is left to do: acked, or given back and since then received again or purged
--   expired    not delivered, its time had come
--   cancelled  not delivered, see cancel
--   passed     the consumer is past it, and nothing else is known: settled long ago, or sent before the consumer subscribed
create type found_message as (
  state text,
  consumer text,
  attempt int,
  batch_id bigint,
  worker text,
  leased_until timestamptz,
  settled_at timestamptz,
  due_at timestamptz,
  died_at timestamptz,
  reason text,
  dead_letter_id bigint,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz,
  expires_at timestamptz,
  -- null on a queue that has none
  priority int,
  key text
);

-- Everything known of a message, one row for each consumer and place: see found_message. What is settled, expired or passed is said of a consumer
-- that has the message nowhere else, once. No row: nothing is known, it was never sent, or is settled by all and its segment truncated.
-- Errors: PQ001 no such queue, PQ004 no id.
create function find_message(queue text, message_id bigint) returns setof found_message
language plpgsql
stable
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
begin
  perform require_same_cluster();
  if message_id is null then
    raise exception using errcode = 'PQ004', message = 'expected a message id, got: NULL', hint = 'send and receive return it.';
  end if;
  return query
    with place as materialized (
      select (p.found).* from locate_in_segments(of_queue, array[find_message.message_id]) p
      union all
      select (p.found).* from locate_delayed(of_queue, array[find_message.message_id]) p
      union all
      select * from find_dead(of_queue, find_message.message_id)
    ),
    over as (
      select distinct on (p.consumer) p.*
        from place p
        join unnest('{cancelled,expired,settled,passed}'::text[]) with ordinality as s(state, rank) using (state)
       order by p.consumer, s.rank, p.settled_at desc
    ),
    alive as (
      select p.* from place p where p.state not in ('cancelled', 'expired', 'settled', 'passed')
    )
    select * from alive
    union all
    select o.* from over o where not exists (select from alive a where a.consumer is not distinct from o.consumer)
    order by consumer, attempt;
end
$$;

-- A place where a message is, and the table that has it.
create type located_message as (
  message_id bigint,
  source text,
  found found_message
);

-- In the segments: a row for each consumer that a message, or a retry of it, is for. source: the number of the segment.
create function locate_in_segments(queue_id int, message_ids bigint[]) returns setof located_message
language plpgsql
stable
set search_path from current
as $$
begin
  return query execute render($sql$
    with message as materialized (
      select m.*, m.expires_at <= clock_timestamp() as is_expired, substring(t.relname from '[0-9]+$') as source
        from {schema}.message_${queue} m
        join pg_class t on t.oid = m.tableoid
       where m.id = any ($2)
    ),
    consumer_message as (
      select m.*, p.consumer_id as of_consumer, c.name as consumer,
             pg_visible_in_snapshot(m.txid, p.prev)
               or (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq)) as is_received
        from message m
        join (${cursors}) p on p.lane = m.lane and (m.consumer_id is null or m.consumer_id = p.consumer_id)
        join {schema}.consumer c on c.id = p.consumer_id
    )
    select r.id, r.source, row(
           case
             ${when_cancelled}
             when r.is_received is not true or b.id is null
               then case when r.is_expired then 'expired' when r.is_received then 'passed' else 'waiting' end
             when b.settled_at is not null then 'settled'
             when b.waits_until is null then 'in_flight'
             when b.attempt > 1 then 'retrying'
             else 'waiting'
           end,
           r.consumer, coalesce(b.attempt, r.attempt)::int, b.id, b.worker,
           case when b.settled_at is null and b.waits_until is null
             then greatest(b.lease_until, {schema}.worker_alive_until(b.worker))
           end,
           b.settled_at, case when b.settled_at is null then b.waits_until end, null::timestamptz, null::text, null::bigint,
           r.type, r.payload, r.headers, r.created_at, r.expires_at, case when q.lane_by = 'priority' then r.lane::int end, r.key)::{schema}.found_message
      from (
        select * from consumer_message
        union all
        select m.*, null, null, false from message m
         where m.consumer_id is null and not exists (select from {schema}.consumer c where c.queue_id = ${queue})
      ) r
      join {schema}.queue q on q.id = ${queue}
      left join lateral (${newest_batch}) b on r.is_received
  $sql$, jsonb_build_object(
    'queue', queue_id,
    'cursors', cursors_query(queue_id),
    'newest_batch', newest_batch_query(queue_id),
    'when_cancelled', case when allows_cancel(queue_id) then format(qualified(
      'when exists (select from {schema}.cancelled_%s x where x.message_id = r.id and (x.consumer is null or x.consumer = r.consumer)) then ''cancelled'''
    ), queue_id) else '' end
  )) using null::int, message_ids;
end
$$;

-- The newest batch of a consumer that holds a message, given as r, a row of its table with of_consumer: its attempt there, and since when
-- the batch, or the message in it, is settled. What batch_messages finds for a batch, the other way round.
create function newest_batch_query(queue_id int) returns text
language sql
stable
return render($sql$
        select b.id, b.worker, b.lease_until, b.waits_until, coalesce(b.remainder_attempts[array_position(b.remainder_ids, r.id)], r.attempt) as attempt,
               (select min(o.created_at) from {schema}.outcome_${queue} o where o.segment = b.segment and o.batch_id = b.id and (o.final or r.id = any (o.message_ids))) as settled_at
          from {schema}.batch_${queue} b
          join {schema}.batch_${queue} w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
         where b.consumer_id = r.of_consumer and b.lane = r.lane and b.id is not null
           and (r.txid, r.seq) >= (b.first_txid, b.first_seq) and (r.txid, r.seq) <= (b.last_txid, b.last_seq)
           and pg_visible_in_snapshot(r.txid, w.next_snapshot) and not pg_visible_in_snapshot(r.txid, w.prev_snapshot)
           and case when b.remainder_ids is null then (r.expires_at <= b.created_at) is not true else r.id = any (b.remainder_ids) end
         order by b.batch_no desc
         limit 1
$sql$, jsonb_build_object('queue', queue_id));

-- Among what is delayed, sent so or to be tried again. source: the table.
create function locate_delayed(queue_id int, message_ids bigint[]) returns setof located_message
language plpgsql
stable
set search_path from current
as $$
declare
  source text;
  moved delayed_position;
begin
  foreach source in array delayed_tables() loop
    moved := delayed_position(source);
    return query execute format(qualified($sql$
      select d.id, %1$L, row(
             case when exists (
               select from {schema}.%2$I x where x.queue_uid = d.queue_uid and x.message_id = d.id and (x.consumer is null or x.consumer = c.name)
             ) then 'cancelled' when d.consumer_id is null then 'delayed' else 'retrying' end, c.name, d.attempt::int, null::bigint, null::text, null::timestamptz,
             null::timestamptz, d.due_at, null::timestamptz, null::text, null::bigint,
             d.type, d.payload, d.headers, d.created_at, d.expires_at, case when q.lane_by = 'priority' then d.lane::int end, d.key)::{schema}.found_message
        from {schema}.%1$I d
        join {schema}.queue q on q.uid = d.queue_uid
        left join {schema}.consumer c on c.id = d.consumer_id
       where q.id = $1 and d.id = any ($2) %3$s
         and not {schema}.is_moved($3, d.txid, d.due_at, d.seq)
         -- a retry for a consumer that is gone is for nobody
         and (d.consumer_id is null or c.id is not null)
    $sql$), source, 'cancelled_' || source, case when allows_cancel(queue_id) then 'and d.cancellable' else '' end) using queue_id, message_ids, moved;
  end loop;
end
$$;

-- Among the dead letters.
create function find_dead(queue_id int, message_id bigint) returns setof found_message
language sql
stable
set search_path from current
begin atomic
  select 'dead', d.consumer, d.attempt, null::bigint, null::text, null::timestamptz, null::timestamptz, null::timestamptz, d.died_at, d.reason, d.id,
         d.type, d.payload, d.headers, d.created_at, null::timestamptz, case when q.lane_by = 'priority' then d.lane::int end, d.key
    from dead_letter d
    join queue q on q.id = d.queue_id
   where d.queue_id = find_dead.queue_id and d.message_id = find_dead.message_id;
end;
