-- Some messages of a batch that stays open: given back to be tried again, snoozed or buried. A batch of an ordered consumer that does
-- not skip ends with what waits in its lane: what is not settled of it waits behind.

create function check_wait(name text, waits interval[]) returns void
language plpgsql
immutable
set search_path from current
as $$
declare
  wrong interval;
begin
  select w into wrong from unnest(waits) as w where w is null or not (w >= '0' and is_within(w, '100 years')) limit 1;
  if found then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to be from 0 to 100 years, got: %s', name, coalesce(wrong::text, 'NULL')),
      hint = 'To give a message back at once without using an attempt, use release_ids of settle.';
  end if;
end
$$;

-- Requeues some messages of a batch, all the same way: see requeued. Returns how many; those that were settled before are left alone. Null: the
-- batch is unknown, finished, or its lease was taken away.
create function requeue_messages(batch_id bigint, message_ids bigint[], how text, wait interval, reason text, stays_open boolean default false) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  mode constant record := batch_mode(batch_id);
  fresh bigint[];
  given int;
begin
  perform check_in_batch(batch_id, message_ids);
  -- what is buried leaves its lane, nothing waits for it
  if mode.mode = 'ordered' and mode.on_failure = 'block' and how <> 'bury' then
    given := hold(batch_id, all_requeued(message_ids, how, wait, reason), others_stay => true);
  else
    fresh := settle_messages(batch_id, message_ids, false, stays_open);
    given := cardinality(fresh);
    if given > 0 then
      perform requeue(batch_id, all_requeued(fresh, how, wait, reason));
    end if;
  end if;
  return given;
end
$$;

-- The same, with 0 and a warning instead of null.
create function requeue_or_warn(batch_id bigint, message_ids bigint[], how text, wait interval, reason text) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  given constant int := requeue_messages(batch_id, message_ids, how, wait, reason);
begin
  if given is null then
    perform warn_not_settled(batch_id);
  end if;
  return coalesce(given, 0);
end
$$;

-- Gives some messages of a batch back, to be tried again after retry_after, or as dead letters when their attempts are used up.
-- Returns how many; those that were settled before are left alone. 0 with a warning: unknown, finished, or lease lost. A batch of an ordered
-- consumer that does not skip ends with it, and what is not settled of it waits in its place.
create function nack(
  batch_id bigint, message_ids bigint[], retry_after interval default '60 s', reason text default null, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_wait('retry_after', array[retry_after]);
  return requeue_or_warn(batch_id, message_ids, 'retry', retry_after, reason);
end
$$;

-- Gives one message back, in PgQue's shape. Its clients nack the messages that have failed one by one, and then ack the batch: it stays open for
-- that when all of them have, and a batch that is unknown or finished is an error.
create function nack(
  batch_id bigint, msg message, retry_after interval default '60 s', reason text default null, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  given int;
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_wait('retry_after', array[retry_after]);
  given := requeue_messages(batch_id, array[(msg).msg_id], 'retry', retry_after, reason, stays_open => true);
  if given is null then
    raise exception using
      errcode = 'PQ003',
      message = format('batch not found: %s', batch_id),
      hint = 'It is unknown, already finished, or its lease ended and its messages were given to another worker.';
  end if;
  return given;
end
$$;

-- Gives some messages of a batch back, to come again after snooze_after (0 to 100 years) at the same attempt, as often as one likes: it is
-- not yet their time, nothing has failed. They wait where a failed message does. Returns how many, 0 with a warning, and ends a batch of an
-- ordered consumer as nack does.
create function snooze(batch_id bigint, message_ids bigint[], snooze_after interval, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_wait('snooze_after', array[snooze_after]);
  return requeue_or_warn(batch_id, message_ids, 'snooze', snooze_after, null);
end
$$;

-- Makes dead letters of some messages of a batch, whatever attempts they have left: to try again would not help. What is behind them in
-- their lane goes on. Returns how many, 0 with a warning, as nack does; the batch stays open whatever the mode of the consumer.
create function bury(batch_id bigint, message_ids bigint[], reason text default null, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  return requeue_or_warn(batch_id, message_ids, 'bury', null, reason);
end
$$;
