-- receive_messages in the shape that PgQue's clients know. Only the returned messages are in the batch.
create function receive(queue text, consumer text, max_return int default 100) returns setof message
language sql
begin atomic
  select r.message_id, r.batch_id, r.type, r.payload, nullif(r.attempt - 1, 0), r.created_at,
         null::text, null::text, null::text, null::text
    from receive_messages(queue => receive.queue, consumer => receive.consumer, max_messages => max_return) as r;
end;
