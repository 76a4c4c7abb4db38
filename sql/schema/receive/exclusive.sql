-- Exclusive consumers: one batch at a time, in the order of the log. The open batch is handed out again on every receive, whoever
-- asks, until it is finished: PgQ's stream reader. While its lease lasts it stays the same batch. When the lease has ended, the receive
-- takes it away as recovery does for a shared consumer, but writes no message again, which would come behind later ones: it appends a
-- batch row over what is left of the same range (take_over).
--
-- A message that failed or is snoozed leaves the stream and comes later; one that is released stays in its place, in the open batch.

-- What is left of the open batch of an exclusive consumer, whose cursor's lock the caller holds. No row: none is open.
create function receive_open_batch(queue_id int, consumer_id int, worker text, lease interval, reports_started boolean) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  open record;
begin
  select * into open from open_batches(queue_id, consumer_id);
  if open.batch_id is null then
    return;
  end if;
  if can_be_taken_over(open.worker, open.lease_until, open.waits_until) then
    select * into open.batch_id, open.lease_until from take_over(open.batch_id, worker, lease, reports_started);
  end if;
  return query select * from messages_left(open.batch_id, open.lease_until);
  if not found then
    perform finish_empty(open.batch_id);
  end if;
end
$$;

-- Finishes a batch of which nothing is left: whoever settled the last of its messages has not acked it. Not when somebody is just doing that.
create function finish_empty(batch_id bigint) returns void
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
begin
  perform settle_messages(batch_id, '{}', true);
exception
  when lock_not_available then
    null;
end
$$;
