-- Acks a batch, or some of its messages, inside the transaction that does their work: raises where ack returns 0, so that what was done
-- under a lease that is lost does not commit. While the transaction is open the lease is not taken away.
create function ack_strict(batch_id bigint, message_ids bigint[] default null, caller caller default current_user) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  if message_ids is not null then
    perform check_in_batch(batch_id, message_ids);
  end if;
  if settle_messages(batch_id, coalesce(message_ids, '{}'), message_ids is null) is null then
    raise exception using
      errcode = 'PQ006',
      message = format('lease lost: batch %s', batch_id),
      hint = 'The batch is unknown, already finished, or its lease ended and its messages were given to another worker. Roll back.';
  end if;
end
$$;
