-- Acks what was finished and receives what comes next, in one call and one commit: for a loop that handles one batch after the other. It runs with
-- the caller's rights: what each ack and the receive do and refuse is what they do alone. A batch whose lease was lost is warned of, as by ack, and
-- does not keep the caller from receiving.
--
-- The acks come first: an exclusive consumer has no next batch while one is open. A row of a batch is locked before the cursor then, and whoever
-- looks for it under the cursor's lock (take_over, finish_empty) waits for 20 ms at most.
create function next_messages(
  queue text,
  consumer text,
  finished bigint[],
  worker text default null,
  max_messages int default 100,
  lease interval default '30 s',
  max_bytes int default null,
  reports_started boolean default false
) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  batch_id bigint;
  acked int;
begin
  foreach batch_id in array coalesce(finished, '{}') loop
    acked := ack(batch_id);
  end loop;
  return query select * from receive_messages(queue, consumer, worker, max_messages, lease, max_bytes, reports_started);
end
$$;
