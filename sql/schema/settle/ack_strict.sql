-- Acks a batch, or some of its messages, inside the transaction that does their work: raises where ack returns 0, so that what was done
-- under a lease that is lost does not commit; and where a message that is named was settled before, for then its work is done, or somebody
-- else's. While the transaction is open the lease is not taken away.
create function ack_strict(batch_id bigint, message_ids bigint[] default null, caller caller default current_user) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  fresh bigint[];
begin
  perform require_receive(caller, batch_queue(batch_id));
  if message_ids is not null then
    perform check_in_batch(batch_id, message_ids);
  end if;
  fresh := settle_messages(batch_id, coalesce(message_ids, '{}'), message_ids is null);
  perform require_settled(batch_id, message_ids, fresh);
end
$$;

-- Raises where not all of these messages were settled just now. fresh: as settle_messages returns it.
create function require_settled(batch_id bigint, message_ids bigint[], fresh bigint[]) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if fresh is null or cardinality(fresh) < (select count(distinct m) from unnest(message_ids) as m) then
    raise exception using
      errcode = 'PQ006',
      message = format('lease lost: batch %s', batch_id),
      hint = 'The batch or the messages are unknown, settled already, or the lease ended and they were given to another worker. Roll back.';
  end if;
end
$$;
