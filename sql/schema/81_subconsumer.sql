-- Subconsumers: PgQue's name for the workers of a shared consumer. One needs no registration here; what was registered is the consumer.
-- Like an exclusive consumer, a subconsumer that asks again is given what is left of its open batch.

-- Registers the consumer, shared, unless it is there. 1 new, 0 exists.
create function subscribe_subconsumer(queue text, consumer text, subconsumer text, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform receivable_queue(caller, queue), check_name('subconsumer', subconsumer);
  return subscribe(queue, consumer, '{"mode": "shared"}');
end
$$;

-- The open batch of a subconsumer again, or the next one. dead_interval: how long the batch is its alone without a touch_subconsumer; null:
-- a week, the longest lease there is.
create function receive_coop(
  queue text, consumer text, subconsumer text, max_return int default 100, dead_interval interval default null, caller caller default current_user
) returns setof message
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
  reader constant int := require_consumer(of_queue, consumer);
  open bigint;
begin
  perform require_read_committed('receive_coop');
  perform check_name('subconsumer', subconsumer);
  select b.batch_id into open from open_batches(of_queue, reader) b where b.worker = subconsumer limit 1;
  if open is not null then
    return query
      select m.message_id, open, m.type, m.payload, nullif(m.attempt - 1, 0), m.created_at, null::text, null::text, null::text, null::text
        from messages_left(open, null) m;
    return;
  end if;
  return query
    select r.message_id, r.batch_id, r.type, r.payload, nullif(r.attempt - 1, 0), r.created_at, null::text, null::text, null::text, null::text
      from receive_messages(queue, consumer, subconsumer, max_return, coalesce(dead_interval, '7 days')) r;
end
$$;

-- Keeps the batches of a subconsumer its own for another dead_interval.
create function touch_subconsumer(
  queue text, consumer text, subconsumer text, dead_interval interval default '1 min', caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_consumer(receivable_queue(caller, queue), consumer);
  perform heartbeat(subconsumer, dead_interval);
  return 1;
end
$$;

-- A subconsumer leaves: 1, or 0 when it has no open batch. batch_handling: what becomes of one; 0: an error, 1: given back to the others.
create function unsubscribe_subconsumer(
  queue text, consumer text, subconsumer text, batch_handling int default 0, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
  reader constant int := require_consumer(of_queue, consumer);
  open bigint[];
begin
  if (batch_handling in (0, 1)) is not true then
    raise exception using errcode = 'PQ004', message = format('expected batch_handling to be 0 (refuse) or 1 (give back), got: %s', coalesce(batch_handling::text, 'NULL'));
  end if;
  open := array(select b.batch_id from open_batches(of_queue, reader) b where b.worker = subconsumer);
  if cardinality(open) = 0 then
    return 0;
  end if;
  if batch_handling = 0 then
    raise exception using
      errcode = 'PQ004',
      message = format('subconsumer %s has an open batch: %s', quote_literal(subconsumer), array_to_string(open, ', ')),
      hint = 'Finish it first, or give it back with batch_handling => 1.';
  end if;
  perform settle(o.id, release_ids => array(select m.message_id from batch_messages(o.id) m)) from unnest(open) as o(id);
  return 1;
end
$$;
