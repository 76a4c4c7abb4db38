-- PgQue's names for dead letters, on top of dead_letters, redrive and purge_dead_letters.

-- The dead letters of a queue, newest first, as they are stored.
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
begin
  if older_than is null or older_than < '0' then
    raise exception using errcode = 'PQ004', message = format('expected older_than to be 0 or longer, got: %s', coalesce(older_than::text, 'NULL'));
  end if;
  return purge_dead_letters(queue, died_before => clock_timestamp() - older_than);
end
$$;
