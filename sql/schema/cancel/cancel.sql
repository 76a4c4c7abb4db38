-- Cancelling messages that nobody has received yet. "cancelled" is the answer if and only if no handler is ever given the message: it is decided under the
-- lock of each consumer's cursor, which a receive holds too, and both hold it until they commit.

-- What became of one message for one consumer.
--   cancelled  it is not delivered, now or after a seek; also if it was cancelled before
--   in_flight  a worker has it: it was too late. One of @pgque/worker that listens aborts the signal of its handler, see notify_cancelled
--   dead       a dead letter: see purge_dead_letters
--   settled, expired, passed   as find_message says them: nothing was left to cancel
--   unknown    the queue has no such message, or none any more
create type cancellation as (
  message_id bigint,
  -- null: nobody has subscribed, or nothing is known of the message
  consumer text,
  state text
);

-- Cancels messages for one consumer, or without one for all, those that subscribe later too. Waiting, delayed, and to be tried again: each is cancelled where
-- nobody has it in hand. Returns a row for each message and consumer: see cancellation.
-- Until the transaction ends it holds the lock of the cursor of each of these consumers, so they receive nothing; if a message was not found in the
-- segments, the lock of delayed messages as well, so nothing that is delayed is delivered. Nobody subscribes meanwhile.
-- Errors: PQ001 no such queue, PQ002 no such consumer, PQ004 ids that are none or more than a thousand, a queue without allow_cancel, PQ005 above READ COMMITTED.
create function cancel(queue text, message_ids bigint[], consumer text default null, caller caller default current_user) returns setof cancellation
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  of_consumer int;
  answers cancellation[];
begin
  perform require_same_cluster(), require_read_committed('cancel');
  perform check_cancel(of_queue, message_ids);
  if consumer is not null then
    of_consumer := require_consumer(of_queue, consumer);
  end if;
  answers := cancel_with_locks(of_queue, of_consumer, cancel.message_ids, cancel.consumer);
  perform notify_cancelled(of_queue, array(select a from unnest(answers) as a where a.state = 'in_flight'));
  return query select a.message_id, a.consumer, case when a.state in ('waiting', 'delayed', 'retrying') then 'cancelled' else a.state end from unnest(answers) as a;
end
$$;

-- Takes the locks under which it is decided what is cancelled, of one consumer or all.
create function lock_cursors(queue_id int, of_consumer int default null) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  perform pg_advisory_xact_lock_shared(lock_key('subscribe', queue_id)), pg_advisory_xact_lock_shared(lock_key('cancel', queue_id));
  -- in one order: two that cancel do not wait for each other
  perform pg_advisory_xact_lock(lock_key('cursor', queue_id, c.id))
     from (
       select c.id from consumer c where c.queue_id = lock_cursors.queue_id and (of_consumer is null or c.id = of_consumer) order by c.id
     ) c;
end
$$;

-- Takes the locks, and cancels. Returns what append_cancellations does. Whoever waits for the lock of delayed messages holds no cursor meanwhile: the delivery that has it may wait for a receive
-- to end (create_segment), and that receive would wait for the cursor.
create function cancel_with_locks(queue_id int, of_consumer int, message_ids bigint[], consumer text) returns cancellation[]
language plpgsql
volatile
set search_path from current
as $$
begin
  loop
    begin
      perform lock_cursors(queue_id, of_consumer);
      return array(select c from append_cancellations(queue_id, message_ids, consumer) c);
    exception
      when sqlstate 'PQ100' then
        -- its subtransaction has given back the cursors' locks
        perform pg_advisory_xact_lock_shared(lock_key('delayed', 0));
    end;
  end loop;
end
$$;

-- Cancels what waits of a message whose dedupe key the caller holds the lock of, for whoever sends another in its place, and gives the key back.
-- Returns whether it waited for any consumer.
create function replace_message(queue_uid bigint, key text, message_id bigint) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := (select q.id from queue q where q.uid = queue_uid);
  answers constant cancellation[] := cancel_with_locks(of_queue, null, array[message_id], null);
begin
  perform release_keys(queue_uid, array[key]);
  return exists (select from unnest(answers) as a where a.state in ('waiting', 'delayed', 'retrying'));
end
$$;

-- The same, and sends it anew, as it was, for a later time. Returns its new id; null: it waits for nobody, and nothing is sent.
create function postpone_message(queue_uid bigint, key text, message_id bigint, due_at timestamptz) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := (select q.id from queue q where q.uid = queue_uid);
  kept found_message;
  new_id bigint;
begin
  if replace_message(queue_uid, key, message_id) then
    select (p.found).* into strict kept
      from (select * from locate_in_segments(of_queue, array[message_id]) union all select * from locate_delayed(of_queue, array[message_id])) p
     where (p.found).state = 'cancelled'
     limit 1;
    execute format(qualified('select {schema}.send_%s($1, $2, $3, false)'), of_queue)
      into new_id using kept.type, kept.payload, (
        select jsonb_object_agg(o.name, o.value)
          from (
            values ('at', to_jsonb(due_at)), ('headers', kept.headers), ('expires_at', to_jsonb(kept.expires_at)), ('priority', to_jsonb(kept.priority)),
                   ('key', to_jsonb(kept.key))
          ) o(name, value)
         where o.value is not null
      );
  end if;
  return new_id;
end
$$;

-- The message that has the dedupe key of a send with these options, whose lock is held from now on. Null: none.
create function hold_key(queue_uid bigint, options jsonb) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  key constant text := dedupe_key(options);
begin
  perform require_read_committed('send with a dedupe_key'), pg_advisory_xact_lock(hashtextextended(key, dedupe_seed(queue_uid)));
  return (look_up_key(queue_uid, key, pointer_segment(pg_sequence_last_value('dedupe_pointer')))).message_id;
end
$$;

-- Refuses what cannot be cancelled.
create function check_cancel(queue_id int, message_ids bigint[]) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if not allows_cancel(queue_id) then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s was created without allow_cancel', (select quote_literal(q.name) from queue q where q.id = queue_id)),
      hint = 'Its messages have no index by id, which every send would pay for. Create a queue with allow_cancel.';
  end if;
  if message_ids is null or array_position(message_ids, null) is not null or cardinality(message_ids) > 1000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected message_ids to be an array of at most 1000 ids, got: %s',
        case when message_ids is null then 'NULL' when array_position(message_ids, null) is not null then 'one that is NULL' else cardinality(message_ids)::text end),
      hint = 'send and receive return them.';
  end if;
end
$$;

-- Where messages are that can be cancelled, or what else is known of them. The caller holds the cursors' locks.
-- Error: PQ100, for cancel_with_locks alone, when a delivery of delayed messages is under way.
create function locate_messages(queue_id int, message_ids bigint[]) returns located_message[]
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  places located_message[];
  missing bigint[];
begin
  places := array(select p from locate_in_segments(queue_id, message_ids) p);
  missing := array(
    select m.id
      from unnest(message_ids) as m(id)
     where not exists (select from unnest(places) as p where p.message_id = m.id and (p.found).state in ('waiting', 'in_flight', 'retrying', 'cancelled'))
  );
  if cardinality(missing) > 0 then
    -- nothing is delivered from now on; what was until now is in the segments by now
    if not pg_try_advisory_xact_lock_shared(lock_key('delayed', 0)) then
      raise exception using errcode = 'PQ100', message = 'delayed messages are being delivered';
    end if;
    places := array(
      select p from unnest(places) as p where p.message_id <> all (missing)
      union all
      select p from locate_in_segments(queue_id, missing) p
      union all
      select p from locate_delayed(queue_id, missing) p
      union all
      select row(m.id, null, d)::located_message from unnest(missing) as m(id) cross join lateral find_dead(queue_id, m.id) d
    );
  end if;
  return places;
end
$$;

-- Writes the cancellations. Returns what each message was until then: those that were waiting, delayed or retrying are cancelled now.
create function append_cancellations(queue_id int, message_ids bigint[], consumer text) returns setof cancellation
language plpgsql
volatile
set search_path from current
as $$
#variable_conflict use_column
declare
  places constant located_message[] := locate_messages(queue_id, message_ids);
  answers cancellation[];
  for_all bigint[];
  target record;
begin
  -- the state that says most: a retry that waits, of a message that was received long ago
  answers := array(
    select row(m.id, r.name, coalesce(s.state, 'unknown'))::cancellation
      from (select distinct unnest(message_ids) as id) m
     cross join (
       select c.name from consumer c where c.queue_id = append_cancellations.queue_id and (append_cancellations.consumer is null or c.name = append_cancellations.consumer)
       union all
       select null where not exists (select from consumer c where c.queue_id = append_cancellations.queue_id)
     ) r
      left join lateral (
       select k.state
         from unnest(places) as p
         join unnest('{waiting,delayed,retrying,in_flight,cancelled,dead,expired,settled,passed}'::text[]) with ordinality as k(state, rank) on k.state = (p.found).state
        where p.message_id = m.id and ((p.found).consumer is null or (p.found).consumer is not distinct from r.name)
        order by k.rank
        limit 1
      ) s on true
     order by m.id, r.name
  );
  -- for all, also who subscribes later, where all can do without it
  for_all := array(
    select a.message_id
      from unnest(answers) as a
     where append_cancellations.consumer is null
     group by a.message_id
    having bool_and(a.state in ('waiting', 'delayed', 'retrying', 'cancelled'))
  );
  for target in
    select p.source, array_agg(p.message_id) as ids, array_agg(n.name) as names
      from (select distinct p.message_id, p.source from unnest(places) as p where (p.found).state in ('waiting', 'delayed', 'retrying')) p
     cross join lateral (
       select null as name where p.message_id = any (for_all)
       union all
       select a.consumer
         from unnest(answers) as a
        where a.message_id = p.message_id and p.message_id <> all (for_all) and a.state in ('waiting', 'delayed', 'retrying')
     ) n
     group by p.source
  loop
    if target.source like 'delayed%' then
      execute format(qualified($sql$
        insert into {schema}.%I (queue_uid, message_id, consumer) select q.uid, x.id, x.name from {schema}.queue q, unnest($2, $3) as x(id, name) where q.id = $1
      $sql$), 'cancelled_' || target.source) using queue_id, target.ids, target.names;
    else
      execute format(qualified('insert into {schema}.cancelled_%s_%s (message_id, consumer) select * from unnest($1, $2)'), queue_id, target.source)
        using target.ids, target.names;
      perform set_has_cancelled(queue_id);
    end if;
  end loop;
  return query select * from unnest(answers);
end
$$;

-- Tells the workers that have messages in hand, when this transaction commits: they abort the signals of their handlers. Nobody who does not listen is told,
-- and nobody at all while the cluster's queue of notifications is half full, or of a queue with notify = false.
create function notify_cancelled(queue_id int, in_flight cancellation[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  settings queue;
begin
  if cardinality(in_flight) = 0 or pg_notification_queue_usage() > 0.5 then
    return;
  end if;
  select * into settings from queue q where q.id = queue_id;
  if settings.notify then
    -- a payload has less than 8000 bytes
    perform pg_notify(wake_channel(settings.name), jsonb_build_object('cancel', array_agg(f.message_id::text), 'consumer', f.consumer)::text)
       from (select i.*, (row_number() over (partition by i.consumer order by i.message_id) - 1) / 200 as part from unnest(in_flight) as i) f
      group by f.consumer, f.part;
  end if;
end
$$;

-- Cancels the messages that were sent with these dedupe keys, as cancel does, and gives the keys back: whoever sends with one of them next is not a duplicate.
-- A key is kept where its message was not cancelled for all. Keys that nobody has, or that have run out, are passed over. Errors: as of cancel.
create function cancel_by_key(queue text, dedupe_keys text[], consumer text default null, caller caller default current_user) returns setof cancellation
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  uid constant bigint := (select q.uid from queue q where q.id = of_queue);
  key text;
  keys text[] := '{}';
  ids bigint[] := '{}';
  found_id bigint;
  answers cancellation[];
begin
  perform require_same_cluster(), require_read_committed('cancel_by_key');
  if dedupe_keys is null or array_position(dedupe_keys, null) is not null or cardinality(dedupe_keys) > 1000 then
    raise exception using errcode = 'PQ004', message = 'expected dedupe_keys to be an array of at most 1000 strings', hint = 'They are what send was given as dedupe_key.';
  end if;
  perform check_cancel(of_queue, '{}');
  perform pg_advisory_xact_lock(k.key_lock)
     from (select distinct hashtextextended(w.key, dedupe_seed(uid)) as key_lock from unnest(dedupe_keys) as w(key) order by 1) k;
  foreach key in array dedupe_keys loop
    found_id := (look_up_key(uid, key, pointer_segment(pg_sequence_last_value('dedupe_pointer')))).message_id;
    if found_id is not null then
      keys := keys || key;
      ids := ids || found_id;
    end if;
  end loop;
  answers := array(select c from cancel(queue, ids, cancel_by_key.consumer) c);
  perform release_keys(uid, array(
    select k.key from unnest(keys, ids) as k(key, id)
     where (select bool_and(a.state = 'cancelled') from unnest(answers) as a where a.message_id = k.id) and cancel_by_key.consumer is null
  ));
  return query select * from unnest(answers);
end
$$;
