-- The number of a queue, or the error that says it is not there.
create function require_queue(queue text) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  found_id int;
begin
  select q.id into found_id from queue q where q.name = require_queue.queue;
  if found_id is null then
    raise exception using
      errcode = 'PQ001',
      message = format('queue not found: %s', coalesce(queue, 'NULL')),
      hint = 'Create it with create_queue(name).';
  end if;
  return found_id;
end
$$;

-- The number of a consumer of a queue, or the error that says it is not there.
create function require_consumer(queue_id int, consumer text) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  found_id int;
  dropped dropped_consumer;
begin
  select c.id into found_id from consumer c where c.queue_id = require_consumer.queue_id and c.name = consumer;
  if found_id is null then
    select * into dropped from dropped_consumer d where d.queue_id = require_consumer.queue_id and d.name = consumer;
    if found then
      raise exception using
        errcode = 'PQ002',
        message = format('consumer not registered: %s was dropped at %s, it had not received what was sent at %s', consumer, dropped.dropped_at, dropped.oldest_at),
        hint = 'The queue''s max_lag did that. Register it again with subscribe(queue, consumer), and let it keep up.';
    end if;
    raise exception using
      errcode = 'PQ002',
      message = format('consumer not registered: %s', coalesce(consumer, 'NULL')),
      hint = 'Register it with subscribe(queue, consumer).';
  end if;
  return found_id;
end
$$;
