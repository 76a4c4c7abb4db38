-- Throws away what a consumer, or without one every consumer, has not received: its messages, open batches and retries, and for the whole
-- queue what is delayed. Dead letters stay: see purge_dead_letters. Returns how many messages that were, as consumer_status
-- counts them; of a transaction that is still open none.
create function purge(queue text, consumer text default null) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
  subscriber record;
  purged bigint := 0;
begin
  perform require_read_committed('purge');
  if consumer is not null then
    perform require_consumer(of_queue, consumer);
  else
    -- first, as for whoever configures the queue: then come the locks of its subscribers
    perform lock_queue_functions(of_queue);
  end if;
  for subscriber in select s.consumer, s.depth from consumer_status(queue) s where purge.consumer is null or s.consumer = purge.consumer loop
    perform seek(queue, subscriber.consumer, 'latest');
    purged := greatest(purged, subscriber.depth);
  end loop;
  if consumer is null then
    purged := purged + delayed_count((select q.uid from queue q where q.id = of_queue));
    -- under a new number: what is delayed for the old one is delivered to nobody
    update queue q set uid = default where q.id = of_queue;
    perform generate_functions(of_queue);
    if not exists (select from consumer c where c.queue_id = of_queue) then
      purged := purged + truncate_all(of_queue);
    end if;
  end if;
  return purged;
end
$$;

-- Truncates every segment of a queue that nobody has subscribed to, whose messages would wait for the first who does.
create function truncate_all(queue_id int) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  messages bigint;
begin
  perform pg_advisory_xact_lock(lock_key('subscribe', queue_id));
  for segment in 0 .. segment_count(queue_id) - 1 loop
    if not lock_segment(queue_id, segment) then
      raise exception using
        errcode = 'PQ004',
        message = format('queue %s is in use', (select quote_literal(q.name) from queue q where q.id = queue_id)),
        hint = 'A transaction that has sent to it is open. Try again.';
    end if;
  end loop;
  execute format(qualified('select count(*) from {schema}.message_%s'), queue_id) into messages;
  for segment in 0 .. segment_count(queue_id) - 1 loop
    perform empty_segment(queue_id, segment);
  end loop;
  return messages;
end
$$;
