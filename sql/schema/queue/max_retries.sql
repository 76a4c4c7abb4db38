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
