-- How often a message of a queue is tried again before it becomes a dead letter. For whoever may receive from it: a worker says with it what
-- became of a message that failed. Errors: PQ001 no such queue.
create function max_retries(queue text, caller caller default current_user) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
begin
  return (select q.max_retries from queue q where q.id = of_queue);
end
$$;

-- How often one message is delivered again: what its header pgque-max-retries says, else what is set for its queue. A header that is not a whole number from 0 to
-- 32000 says nothing: it was sent, and must not keep a batch from being settled.
create function max_retries_of(headers jsonb, of_queue int) returns int
language sql
immutable
return case when jsonb_typeof(headers -> 'pgque-max-retries') = 'number' and headers ->> 'pgque-max-retries' ~ '^[0-9]{1,5}$'
  then case when (headers ->> 'pgque-max-retries')::int <= 32000 then (headers ->> 'pgque-max-retries')::int else of_queue end
  else of_queue
end;
