-- receive_messages in the shape that PgQue's clients know. Only the returned messages are in the batch, up to 100,000: clients ask for as many as
-- an integer can say. A consumer with subconsumers is left to them: see compat/subconsumer.sql.
create function receive(queue text, consumer text, max_return int default 100, caller caller default current_user) returns setof message
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
begin
  if exists (select from consumer c join subconsumer s on s.consumer_id = c.id where c.queue_id = of_queue and c.name = consumer) then
    raise exception using
      errcode = 'PQ004',
      message = format('consumer %s has subconsumers', quote_literal(consumer)),
      hint = 'Call receive_coop with the name of one, or take them away with unsubscribe_subconsumer.';
  end if;
  return query
    select r.message_id, r.batch_id, r.type, r.payload, nullif(r.attempt - 1, 0), r.created_at, null::text, null::text, null::text, null::text
      from receive_messages(receive.queue, receive.consumer, max_messages => returned_at_most(max_return)) r;
end
$$;

-- How many messages a receive by PgQue's names asks for. Null stays null, and is refused.
create function returned_at_most(max_return int) returns int
language sql
immutable
return case when max_return > 100000 then 100000 else max_return end;
