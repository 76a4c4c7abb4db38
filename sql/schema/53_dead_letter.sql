-- Looking at dead letters, sending them again, throwing them away: what operators do. The only DELETEs outside the registry.

-- The dead letters of a queue, newest first.
create function dlq_inspect(queue text, limit_count int default 100) returns setof dead_letter
language sql
stable
security definer
set search_path from current
begin atomic
  select d.*
    from dead_letter d
   where d.queue_id = require_queue(dlq_inspect.queue)
   order by d.id desc
   limit limit_count;
end;

-- Sends dead letters again, to the consumer they died for, from their first attempt. Those that a filter names; without any, all of
-- the queue. reason_like is a LIKE pattern. Returns how many; those of consumers that are gone stay.
create function redrive(
  queue text,
  ids bigint[] default null,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_before timestamptz default null,
  max_messages int default 100000
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
  sent int;
begin
  perform require_home();
  execute format($sql$
    with chosen as (
      select d.id, c.id as consumer_id
        from dead_letter d
        join consumer c on c.queue_id = d.queue_id and c.name = d.consumer
       where d.queue_id = %1$s
         and ($1 is null or d.id = any ($1))
         and ($2 is null or d.consumer = $2)
         and ($3 is null or d.type = $3)
         and ($4 is null or d.reason like $4)
         and ($5 is null or d.died_at < $5)
       order by d.id
       limit $6
         for update of d
    ),
    taken as (
      delete from dead_letter d using chosen where d.id = chosen.id returning d.*, chosen.consumer_id
    ),
    sent as (
      insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, type, payload, headers)
      select nextval('message_seq_%1$s'), t.message_id, t.created_at, t.consumer_id, 1,
             coalesce(lane_of_key(t.key, (select lanes from queue where id = %1$s)), t.lane), t.key, t.type, t.payload, t.headers
        from taken t
       order by t.id
      returning 1
    )
    select count(*) from sent
  $sql$, of_queue, current_segment) into sent using ids, consumer, type_name, reason_like, died_before, max_messages;
  perform wake(of_queue);
  return sent;
end
$$;

-- Sends one dead letter again. Returns the id of its message, or null when there is no such dead letter.
create function dlq_replay(dead_letter_id bigint) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  letter dead_letter;
begin
  select * into letter from dead_letter d where d.id = dead_letter_id;
  if letter.id is null
     or redrive((select q.name from queue q where q.id = letter.queue_id), ids => array[dead_letter_id]) = 0 then
    return null;
  end if;
  return letter.message_id;
end
$$;

create function dlq_replay_all(queue text) returns int
language sql
volatile
return redrive(queue);

-- Throws away the dead letters of a queue that are older. Returns how many.
create function dlq_purge(queue text, older_than interval default '30 days') returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  purged int;
begin
  if older_than is null or older_than < '0' then
    raise exception using errcode = 'PQ004', message = format('expected older_than to be 0 or longer, got: %s', coalesce(older_than::text, 'NULL'));
  end if;
  delete from dead_letter d where d.queue_id = require_queue(dlq_purge.queue) and d.died_at < clock_timestamp() - older_than;
  get diagnostics purged = row_count;
  return purged;
end
$$;
