-- After a restore elsewhere: everything that is not settled is written again, under transaction ids that mean something here.
--
-- The stored ids and snapshots come from one cluster, and comparing them is arithmetic that needs no cluster. So they still say
-- exactly who has received what. All of it is written by one transaction, and each cursor is placed in the middle of that: before it lies
-- what is kept for consumers that come later (a queue's retention), after it what this consumer is to receive.

-- What taken sees, and what the own transaction has written.
create function snapshot_with_own(taken pg_snapshot) returns pg_snapshot
language plpgsql
volatile
set search_path from current
as $$
declare
  own constant bigint := pg_current_xact_id()::text;
  xmax constant bigint := pg_snapshot_xmax(taken)::text;
  in_progress bigint[];
begin
  -- whoever began between xmax and the own transaction may not have ended
  in_progress := array(
    select open.x
      from (select x::text::bigint from pg_snapshot_xip(taken) as x union select generate_series(xmax, own - 1)) as open(x)
     where open.x <> own
     order by open.x
  );
  return format('%s:%s:%s', coalesce(in_progress[1], greatest(xmax, own + 1)), greatest(xmax, own + 1), array_to_string(in_progress, ','))::pg_snapshot;
end
$$;

-- Sequences are not copied by logical replication. A sequence that has been lost is moved past what was given out; never back.
create function raise_sequence(sequence regclass, given_out bigint) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if given_out > coalesce(pg_sequence_last_value(sequence), 0) then
    perform setval(sequence, given_out);
  end if;
end
$$;

-- The columns of a table but for some, to copy its rows by.
create function columns_but(source regclass, but text[]) returns text
language sql
stable
set search_path from current
begin atomic
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
    from pg_attribute a
   where a.attrelid = columns_but.source and a.attnum > 0 and not a.attisdropped and a.attname <> all (but);
end;

-- Copies what a queue has to keep into a temporary table, each message with the consumer it is for (null: all), its attempt, and its
-- place: 0 for what is only kept, 1 for what was in open batches, 2 for what was not received.
create function keep_messages(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format(qualified($sql$
    create temp table pg_temp.kept_message on commit drop as
    with position as materialized (
      select distinct on (b.consumer_id, b.lane) b.consumer_id, b.lane, b.last_txid, b.last_seq,
             coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next
        from {schema}.batch_%1$s b
        join {schema}.batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
       order by b.consumer_id, b.lane, b.batch_no desc
    ),
    open as materialized (
      select b.*, coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next, s.settled
        from {schema}.open_batches(%1$s) o
        join {schema}.batch_%1$s b on b.id = o.batch_id
        join {schema}.batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.batch_no = b.window_batch_no
       cross join lateral {schema}.batch_state(b.id) s
    ),
    kept as (
      select m.*, k.of_consumer, m.attempt as of_attempt, k.place
        from {schema}.message_%1$s m
       cross join lateral (
         select coalesce(array_agg(c.id) filter (
                  where p.lane is null
                     or not (pg_visible_in_snapshot(m.txid, p.prev)
                             or (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq)))
                ), '{}') as of_consumers,
                m.consumer_id is null as is_for_all,
                count(c.id) as consumers
           from {schema}.consumer c
           left join position p on p.consumer_id = c.id and p.lane = m.lane
          where c.queue_id = %1$s and (m.consumer_id is null or m.consumer_id = c.id)
       ) r
       cross join lateral (
         select null::int as of_consumer, 2 as place where r.is_for_all and cardinality(r.of_consumers) = r.consumers
         union all
         select of_consumer, 2 from unnest(r.of_consumers) as of_consumer where not (r.is_for_all and cardinality(r.of_consumers) = r.consumers)
         union all
         select null, 0
          where r.is_for_all and cardinality(r.of_consumers) < r.consumers
            and m.created_at > clock_timestamp() - (select q.retention from {schema}.queue q where q.id = %1$s)
       ) k
      union all
      -- its attempt is not used up: that a cluster was left behind is not the message's fault
      select m.*, o.consumer_id, coalesce(o.remainder_attempts[array_position(o.remainder_ids, m.id)], m.attempt), 1
        from open o
        join {schema}.message_%1$s m on m.lane = o.lane
         and (m.txid, m.seq) >= (o.first_txid, o.first_seq) and (m.txid, m.seq) <= (o.last_txid, o.last_seq)
       where pg_visible_in_snapshot(m.txid, o.next) and not pg_visible_in_snapshot(m.txid, o.prev)
         and (m.consumer_id is null or m.consumer_id = o.consumer_id)
         and (o.remainder_ids is null or m.id = any (o.remainder_ids))
         and m.id <> all (o.settled)
    )
    select k.*, row_number() over (order by k.place, k.lane, k.txid, k.seq) as number from kept k
  $sql$), queue_id);
end
$$;

-- Takes the cancellations out of tables, to be written again: they name messages by their ids, which stay.
create function keep_cancellations(variadic sources text[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  source text;
begin
  execute format(qualified('create temp table pg_temp.kept_cancellation on commit drop as select * from {schema}.%I limit 0'), sources[1]);
  foreach source in array sources loop
    execute format(qualified('insert into pg_temp.kept_cancellation select * from {schema}.%I'), source);
    execute format(qualified('truncate {schema}.%I'), source);
  end loop;
end
$$;

create function restore_cancellations(target text) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format(qualified('insert into {schema}.%I select distinct * from pg_temp.kept_cancellation'), target);
  drop table pg_temp.kept_cancellation;
end
$$;

-- Writes a queue anew. Returns how many messages are to be received.
create function repair_queue(queue_id int) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer constant regclass := relation(format('segment_pointer_%s', queue_id));
  sequence constant regclass := relation(format('message_seq_%s', queue_id));
  columns constant text := columns_but(relation(format('message_%s', queue_id)), '{txid,seq,consumer_id,attempt}');
  before pg_snapshot;
  first_seq bigint;
  given_out bigint;
  cursors record;
  counted record;
begin
  execute format(qualified($sql$
    select greatest(
      (select max(greatest(m.seq, m.id)) from {schema}.message_%1$s m),
      (select max(b.last_seq) from {schema}.batch_%1$s b),
      (select max(d.message_id) from {schema}.dead_letter d where d.queue_id = %1$s),
      (select max(d.id) from (
         select * from {schema}.delayed_soon_0 union all select * from {schema}.delayed_soon_1 union all select * from {schema}.delayed_later_0 union all select * from {schema}.delayed_later_1
       ) d join {schema}.queue q on q.uid = d.queue_uid where q.id = %1$s)
    )
  $sql$), queue_id) into given_out;
  perform raise_sequence(sequence, given_out);
  execute format(qualified('select max(b.id >> 36) from {schema}.batch_%s b'), queue_id) into given_out;
  perform raise_sequence(relation(format('batch_seq_%s', queue_id)), given_out);
  if pointer_segment(pg_sequence_last_value(pointer)) < segment_count(queue_id) is not true then
    perform setval(pointer, pointer_to(0));
  end if;
  perform setval(relation(format('lock_attempts_%s', queue_id)), 0), setval(relation(format('idle_%s', queue_id)), 0);

  perform keep_messages(queue_id);
  execute format(qualified($sql$
    select array_agg(c.id) as consumers, array_agg(b.lane) as lanes
      from {schema}.consumer c
      join (select distinct b.consumer_id, b.lane from {schema}.batch_%1$s b) b on b.consumer_id = c.id
     where c.queue_id = %1$s
  $sql$), queue_id) into cursors;
  perform keep_cancellations(concat_ws('_', 'cancelled', queue_id)) where allows_cancel(queue_id);
  execute format(qualified('truncate {schema}.message_%1$s, {schema}.batch_%1$s, {schema}.outcome_%1$s'), queue_id);

  select count(*) filter (where k.place = 0) as kept, count(*) filter (where k.place > 0) as to_receive into counted from pg_temp.kept_message k;
  first_seq := coalesce(pg_sequence_last_value(sequence), 0);
  perform raise_sequence(sequence, first_seq + counted.kept + counted.to_receive);
  execute render($sql$
    insert into {schema}.message_${queue}_${segment} (seq, consumer_id, attempt, ${columns})
    select $1 + k.number, k.of_consumer, k.of_attempt, ${columns} from pg_temp.kept_message k order by k.number
  $sql$, jsonb_build_object('queue', queue_id, 'segment', pointer_segment(pg_sequence_last_value(pointer)), 'columns', columns)) using first_seq;
  drop table pg_temp.kept_message;
  if allows_cancel(queue_id) then
    perform restore_cancellations(concat_ws('_', 'cancelled', queue_id, pointer_segment(pg_sequence_last_value(pointer))));
    perform setval(relation(format('has_cancelled_%s', queue_id)), 1);
  end if;

  perform pg_current_xact_id();
  before := snapshot_now();
  execute render($sql$
    insert into {schema}.batch_${queue} (segment, consumer_id, lane, batch_no, prev_snapshot, next_snapshot, window_batch_no, last_txid, last_seq, messages)
    select ${segment}, c.consumer_id, c.lane, 1, $1, {schema}.snapshot_with_own($1), 1, pg_current_xact_id(), $2, 0
      from unnest($3, $4) as c(consumer_id, lane)
  $sql$, jsonb_build_object('queue', queue_id, 'segment', pointer_segment(pg_sequence_last_value(pointer))))
    using before, first_seq + counted.kept, cursors.consumers, cursors.lanes;

  -- the keys of advisory locks that are written into them are hashes, which may differ between major versions
  perform generate_functions(queue_id);
  return counted.to_receive;
end
$$;

-- Writes anew what waits in a store of delayed messages.
create function repair_delayed(store text) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer constant regclass := relation(format('delayed_%s_pointer', store));
  source text;
  position delayed_position;
begin
  if pointer_segment(pg_sequence_last_value(pointer)) <= 1 is not true then
    perform setval(pointer, pointer_to(0));
  end if;
  perform keep_cancellations(format('cancelled_delayed_%s_0', store), format('cancelled_delayed_%s_1', store));
  execute format(qualified('create temp table pg_temp.kept_delayed on commit drop as select * from {schema}.delayed_%s_0 limit 0'), store);
  foreach source in array array[format('delayed_%s_0', store), format('delayed_%s_1', store)] loop
    position := delayed_position(source);
    execute format(qualified($sql$
      insert into pg_temp.kept_delayed
      select d.*
        from {schema}.%I d
       where not {schema}.is_moved($1, d.txid, d.due_at, d.seq)
         and exists (select from {schema}.queue q where q.uid = d.queue_uid)
         and (d.consumer_id is null or exists (select from {schema}.consumer c where c.id = d.consumer_id))
    $sql$), source) using position;
  end loop;
  execute format(qualified('truncate {schema}.delayed_%1$s_0, {schema}.delayed_%1$s_0_log, {schema}.delayed_%1$s_1, {schema}.delayed_%1$s_1_log restart identity'), store);
  execute format(qualified('insert into {schema}.%1$I (%2$s) select %2$s from pg_temp.kept_delayed order by due_at, seq'), delayed_table(store),
    columns_but(relation(delayed_table(store)), '{txid,seq}'));
  drop table pg_temp.kept_delayed;
  perform restore_cancellations('cancelled_' || delayed_table(store));
end
$$;

-- Puts what has not run out, of dedupe keys, results, steps or progress, into one table: the pointer says nothing any more.
create function repair_expiring(kind text) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  columns constant text := columns_but(relation(kind), '{segment}');
begin
  execute format(qualified('create temp table pg_temp.kept_expiring on commit drop as select %s from {schema}.%I where expires_at > clock_timestamp()'), columns, kind);
  execute format(qualified('truncate {schema}.%I'), kind);
  perform setval(relation(kind || '_pointer'), pointer_to(0));
  execute format(qualified('insert into {schema}.%1$I (segment, %2$s) select 0, %2$s from pg_temp.kept_expiring'), kind, columns);
  drop table pg_temp.kept_expiring;
end
$$;

-- Makes a schema this cluster's that was restored, replicated or upgraded: until then send, receive and most others fail with PQ007. Nothing
-- is lost and nothing settled comes back: what a consumer had not received comes, what was in its open batches comes again at the same
-- attempt, what waited goes on waiting; those batches are gone, and workers are told so by their acks. Delivered messages that a queue's
-- retention keeps are kept.
--
-- Returns a row a queue: how many messages are to be received (one for each consumer where not all are to), and how many wait for their
-- time. No row, and a notice, when the schema is this cluster's already: nothing is done then, unless forced.
--
-- For the owner of the schema, in one transaction, READ COMMITTED, best with senders and workers stopped; it holds ACCESS EXCLUSIVE on every table of every queue until that ends,
-- three locks a segment and their indexes', so a thousand queues need a higher max_locks_per_transaction.
create function repair(force boolean default false) returns table (queue_name text, messages bigint, delayed bigint)
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue record;
begin
  perform require_read_committed('repair');
  if is_same_cluster() and not force then
    raise notice 'nothing to repair: the schema is this cluster''s';
    return;
  end if;
  perform lock_everything();
  -- what was written for consumers and queues that are gone is not kept, so that their numbers may come again
  perform raise_sequence(pg_get_serial_sequence('queue', 'uid'), (select max(q.uid) from queue q)),
          raise_sequence('queue_number', (select max(q.id) from queue q)),
          raise_sequence(pg_get_serial_sequence('consumer', 'id'), (select max(c.id) from consumer c)),
          raise_sequence(pg_get_serial_sequence('dead_letter', 'id'), (select max(d.id) from dead_letter d));
  perform repair_delayed('soon'), repair_delayed('later');
  perform repair_expiring('dedupe'), repair_expiring('result'), repair_expiring('step'), repair_expiring('progress');
  truncate heartbeat;
  if pointer_segment(pg_sequence_last_value('heartbeat_pointer')) <= 2 is not true then
    perform setval('heartbeat_pointer', pointer_to(0));
  end if;
  for of_queue in select q.id, q.uid, q.name from queue q order by q.name loop
    queue_name := of_queue.name;
    messages := repair_queue(of_queue.id);
    delayed := delayed_count(of_queue.uid);
    return next;
  end loop;
  perform generate_dispatchers();
  perform mark_cluster();
end
$$;
