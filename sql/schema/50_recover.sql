-- Recovery: batches whose lease has ended are finished in their worker's place, and what they left unsettled is given back,
-- one attempt further. A lease ends at the later of the batch's own end and the last heartbeat of its worker.

create function recover(queue_id int) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  batch bigint;
  recovered int := 0;
begin
  for batch in
    select b.batch_id
      from open_batches(queue_id) b
     where b.lease_until < clock_timestamp()
       and not exists (select from heartbeat h where h.worker = b.worker and h.alive_until >= clock_timestamp())
     order by b.first_txid, b.first_seq
  loop
    recovered := recovered + recover_batch(batch)::int;
  end loop;
  return recovered;
end
$$;

-- Takes one batch away from its worker. False: a transaction that is about to settle it is still open, or somebody was faster.
create function recover_batch(batch_id bigint) returns boolean
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  state record;
  unsettled bigint[];
begin
  state := batch_state(batch_id);
  unsettled := array(select m.message_id from batch_messages(batch_id) m where m.message_id <> all (state.settled));
  -- the outcome first: a worker that settles the batch from now on finds it finished
  if state.final or not append_outcome(batch_id, state.last_n + 1, true, unsettled) then
    return false;
  end if;
  perform give_back(batch_id, unsettled, array_fill(interval '0', array[cardinality(unsettled)]),
    array_fill('the lease ended before the message was settled'::text, array[cardinality(unsettled)]));
  return true;
exception
  when lock_not_available then
    return false;
end
$$;
