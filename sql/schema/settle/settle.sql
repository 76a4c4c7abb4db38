-- How batches end. The outcomes of a batch are a small log, unique on (batch, n): whoever settles something reads the newest,
-- stops if it is final, and inserts the next; on a conflict somebody else was faster, and it reads again. So acks of some
-- messages, the final ack and recovery cannot overlook each other, and a batch is finished once.
--
-- The row of the batch is locked first: two who look for a conflict at the same moment find none, both insert, and the loser's row is
-- dead. Such a lock is a mark in the row itself, not a version of it, and takes none of the server's lock table, however many batches a
-- transaction settles.
--
-- A message is looked for in a list by NOT IN (SELECT …), which hashes the list: compared with the list itself, <> ALL, a batch takes time by
-- the square of its messages.

-- Whether a batch exists, and what is settled of it.
create function batch_state(batch_id bigint, out messages int, out last_n int, out final boolean, out settled bigint[])
language plpgsql
stable
set search_path from current
set enable_seqscan = off
as $$
begin
  if to_regclass(format(qualified('{schema}.outcome_%s_%s'), batch_queue(batch_id), batch_segment(batch_id))) is null then
    return;
  end if;
  execute format(qualified($sql$
    select b.messages, coalesce(max(o.n), 0), coalesce(bool_or(o.final), false),
           array(select s.id from {schema}.outcome_%1$s_%2$s o, unnest(o.message_ids) as s(id) where o.batch_id = $1)
      from {schema}.batch_%1$s_%2$s b
      left join {schema}.outcome_%1$s_%2$s o on o.batch_id = b.id
     where b.id = $1
     group by b.messages
  $sql$), batch_queue(batch_id), batch_segment(batch_id)) into messages, last_n, final, settled using batch_id;
end
$$;

-- Appends an outcome. False: somebody else was faster, read the state again. The batch is looked for once more: while this waited for a
-- truncation, it may have been taken away and be gone, and with it the outcome that would have been in the way.
create function append_outcome(
  batch_id bigint, n int, final boolean, message_ids bigint[], started bigint default null, alone boolean default null
) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  inserted int;
begin
  execute format(qualified($sql$
    insert into {schema}.outcome_%1$s_%2$s (segment, batch_id, n, final, message_ids, started, alone)
    select %2$s, b.id, $2, $3, $4, $5, $6 from {schema}.batch_%1$s_%2$s b where b.id = $1 for no key update
    on conflict do nothing
  $sql$), batch_queue(batch_id), batch_segment(batch_id)) using batch_id, n, final, message_ids, started, alone;
  get diagnostics inserted = row_count;
  return inserted = 1;
end
$$;

-- Whether what is settled may let somebody receive who could not: a consumer of the queue may have only so many messages in flight, or one
-- batch at a time. Whoever sleeps is then woken. The usual ack has this written into it, or not.
create function limits_in_flight(queue_id int) returns boolean
language sql
stable
set search_path from current
begin atomic
  select exists (
    select from consumer c where c.queue_id = limits_in_flight.queue_id and (coalesce(c.max_in_flight, c.max_in_flight_per_key) is not null or c.mode <> 'shared')
  );
end;

-- Wakes whoever sleeps, if there is room now and something for it. A worker may have looked between the outcome and its commit: so a transaction
-- that has settled something and is open counts for has_open_senders as one that has sent.
create function wake_after_settle(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if limits_in_flight(queue_id) and has_idle_worker(queue_id) and exists (
    select from consumer c
     where c.queue_id = wake_after_settle.queue_id and not c.paused
       and (coalesce(c.max_in_flight, c.max_in_flight_per_key) is not null or (c.mode <> 'shared' and not segment_is_received(wake_after_settle.queue_id, null, c.id)))
  ) then
    perform notify_workers(queue_id);
  end if;
end
$$;

-- Settles some messages of a batch, or with final = true all that are not settled yet. Returns those it settled; null when
-- the batch is unknown, finished, or its lease was taken away. With stays_open not even the last of its messages finishes it.
create function settle_messages(batch_id bigint, message_ids bigint[], final boolean, stays_open boolean default false) returns bigint[]
language plpgsql
volatile
set search_path from current
as $$
declare
  state record;
  fresh bigint[];
begin
  loop
    state := batch_state(batch_id);
    if state.messages is null or state.final then
      return null;
    end if;
    fresh := array(select distinct m from unnest(message_ids) as m where m not in (select unnest(state.settled)));
    if cardinality(fresh) = 0 and not final then
      return fresh;
    end if;
    if append_outcome(batch_id, state.last_n + 1,
         final or (not stays_open and cardinality(state.settled) + cardinality(fresh) = state.messages), fresh) then
      perform wake_after_settle(batch_queue(batch_id));
      return fresh;
    end if;
  end loop;
end
$$;

create function warn_not_settled(batch_id bigint) returns void
language plpgsql
set search_path from current
as $$
begin
  raise warning using
    errcode = 'PQ003',
    message = format('batch not found: %s', batch_id),
    hint = 'It is unknown, already finished, or its lease ended and its messages were given to another worker.';
end
$$;

-- Finishes a batch: 1 done, 0 (with a warning) unknown, already finished or lease lost. For any batch id; the usual way is ack,
-- which takes the queue's own ack_<queue id>.
create function ack_by_number(batch_id bigint, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  if settle_messages(batch_id, '{}', true) is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  return 1;
end
$$;

-- Writes ack_<queue id>: the usual case, a batch without an outcome, in one static statement.
create function generate_ack(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
begin
  perform write_queue_function(concat_ws('_', 'ack', queue_id), 'batch bigint', 'int', 'set enable_seqscan = off', render($body$
begin
  case {schema}.batch_segment(batch)
    ${finish_by_segment}
    else
      null;
  end case;
  if not found then
    -- this runs with the owner's rights, and who may call it may settle this queue's batches alone
    if {schema}.batch_queue(batch) is distinct from ${queue} then
      perform {schema}.warn_not_settled(batch);
      return 0;
    end if;
    return {schema}.ack_by_number(batch);
  end if;
  ${wake}
  return 1;
end
  $body$, jsonb_build_object(
    'queue', queue_id,
    'finish_by_segment', (
      select string_agg(render($sql$
        when ${segment} then
          insert into {schema}.outcome_${queue}_${segment} (segment, batch_id, n, final)
          select ${segment}, b.id, 1, true from {schema}.batch_${queue}_${segment} b where b.id = ack_${queue}.batch for no key update
          on conflict (batch_id, n, segment) do nothing;
      $sql$, jsonb_build_object('queue', queue_id, 'segment', segment)), E'\n' order by segment)
        from generate_series(0, segment_count(queue_id) - 1) as ring(segment)
    ),
    'wake', case when limits_in_flight(queue_id) then wake_statement(queue_id, 'wake_after_settle') else '' end
  )));
end
$generate$;

-- Acks some messages of a batch; it stays open until all are settled. 1 done (also when they were settled before), 0 (with a
-- warning) unknown, already finished or lease lost. An id that is not in the batch is an error.
create function ack(batch_id bigint, message_ids bigint[], caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_in_batch(batch_id, message_ids);
  if settle_messages(batch_id, message_ids, false) is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  return 1;
end
$$;

-- Refuses ids of messages that are not in the batch. Says nothing of a batch that is not there or finished: its caller does, and the
-- messages of a finished one may be truncated already.
create function check_in_batch(batch_id bigint, message_ids bigint[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  state record;
  unknown_ids text;
begin
  if message_ids is null or array_position(message_ids, null) is not null then
    raise exception using errcode = 'PQ004', message = 'expected an array of message ids without NULL';
  end if;
  state := batch_state(batch_id);
  if state.messages is null or state.final then
    return;
  end if;
  select string_agg(m.id::text, ', ')
    into unknown_ids
    from unnest(message_ids) as m(id)
   where m.id not in (select b.message_id from batch_messages(batch_id) b);
  if unknown_ids is not null then
    -- while it was looked for, the lease may have ended and the segment been truncated
    state := batch_state(batch_id);
    if state.messages is null or state.final then
      return;
    end if;
    raise exception using
      errcode = 'PQ003',
      message = format('message not in batch %s: %s', batch_id, unknown_ids),
      hint = 'Only what receive returned with this batch id is in the batch.';
  end if;
end
$$;
