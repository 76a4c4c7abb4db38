-- Subconsumers: PgQue's name for the workers of a shared consumer. Their names are kept, for a consumer that has some is not received from
-- by name alone. Like an exclusive consumer, a subconsumer that asks again is given what is left of its open batch.

-- Registers a subconsumer, and its consumer, shared, unless it is there. 1 new, 0 exists.
create function subscribe_subconsumer(queue text, consumer text, subconsumer text, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
begin
  perform check_name('subconsumer', subconsumer);
  perform subscribe(queue, consumer, '{"mode": "shared"}');
  insert into subconsumer values (require_consumer(of_queue, consumer), subscribe_subconsumer.subconsumer) on conflict do nothing;
  return found::int;
end
$$;

-- The open batch of a subconsumer again, or the next one. Registers the subconsumer the first time. dead_interval: how long the batch is its
-- alone without a touch_subconsumer; null: a week, the longest lease there is.
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
  of_consumer int;
  open record;
begin
  perform require_read_committed('receive_coop');
  if not exists (
    select from consumer c
      join subconsumer s on s.consumer_id = c.id
     where c.queue_id = of_queue and c.name = receive_coop.consumer and s.name = receive_coop.subconsumer
  ) then
    perform subscribe_subconsumer(queue, consumer, subconsumer);
  end if;
  of_consumer := require_consumer(of_queue, consumer);
  for open in select b.batch_id, b.lease_until from open_batches(of_queue, of_consumer) b where b.worker = subconsumer loop
    return query
      select m.message_id, open.batch_id, m.type, m.payload, nullif(m.attempt - 1, 0), m.created_at, null::text, null::text, null::text, null::text
        from messages_left(open.batch_id, open.lease_until) m;
    if found then
      return;
    end if;
    perform finish_empty(open.batch_id);
  end loop;
  return query
    select r.message_id, r.batch_id, r.type, r.payload, nullif(r.attempt - 1, 0), r.created_at, null::text, null::text, null::text, null::text
      from receive_messages(queue, consumer, subconsumer, returned_at_most(max_return), coalesce(dead_interval, '7 days')) r;
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

-- A subconsumer leaves: 1, or 0 when there is none of that name. batch_handling: what becomes of its open batch; 0: an error, 1: given back to the
-- others, without using an attempt.
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
  of_consumer constant int := require_consumer(of_queue, consumer);
  open bigint[];
begin
  if (batch_handling in (0, 1)) is not true then
    raise exception using errcode = 'PQ004', message = format('expected batch_handling to be 0 (refuse) or 1 (give back), got: %s', coalesce(batch_handling::text, 'NULL'));
  end if;
  open := array(select b.batch_id from open_batches(of_queue, of_consumer) b where b.worker = subconsumer);
  if batch_handling = 0 and cardinality(open) > 0 then
    raise exception using
      errcode = 'PQ004',
      message = format('subconsumer %s has an open batch: %s', quote_literal(subconsumer), array_to_string(open, ', ')),
      hint = 'Finish it first, or give it back with batch_handling => 1.';
  end if;
  perform settle(o.id, release_ids => array(select m.message_id from batch_messages(o.id) m)) from unnest(open) as o(id);
  delete from subconsumer s where s.consumer_id = of_consumer and s.name = unsubscribe_subconsumer.subconsumer;
  return (found or cardinality(open) > 0)::int;
end
$$;
