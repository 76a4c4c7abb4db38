-- What a lost lease says of the messages in it: one of them may have ended its process, the others were beside it.
--
-- Nobody knows which, and to write each begin would cost a row a message. So the first time all come back as they were, as suspects: crashes is
-- no longer null. Suspects alone are started with a mark, an outcome that settles nothing, which the worker writes before it calls the handler:
-- alone, when nothing else is being handled in its process. A batch that is lost then says which message had started:
--   no mark     it was not started: as it was
--   the latest mark is its, and says alone: one crash further, and a dead letter when these are as many as the queue's max_crashes
--   another mark: one crash further. It may have been another's fault, so it is no dead letter
-- A worker that begins others beside a suspect that takes long writes a second mark, which is not alone, before it does.
-- A handler that comes to an end clears its message of suspicion. Whoever receives without reports_started writes no marks: what its batches leave
-- is tried again, one attempt further.

create function lost_messages(batch_id bigint, settled bigint[]) returns requeued[]
language plpgsql
stable
set search_path from current
set enable_seqscan = off
as $$
declare
  max_crashes constant int := (select q.max_crashes from queue q where q.id = batch_queue(batch_id));
  reports boolean;
  started bigint[];
  culprit bigint;
begin
  execute format(qualified($sql$
    select coalesce(b.reports_started, false),
           array(select o.started from {schema}.outcome_%1$s_%2$s o where o.batch_id = b.id and o.started is not null),
           (select case when o.alone then o.started end from {schema}.outcome_%1$s_%2$s o where o.batch_id = b.id and o.started is not null order by o.n desc limit 1)
      from {schema}.batch_%1$s_%2$s b
     where b.id = $1
  $sql$), batch_queue(batch_id), batch_segment(batch_id)) into reports, started, culprit using batch_id;
  return array(
    select row(
             m.message_id, m.how, '0',
             case m.how
               when 'retry' then 'the lease ended before the message was settled'
               when 'bury' then format('it was in hand when %s processes ended or lost their leases, alone in the last of them', m.crashes + 1)
             end
           )::requeued
      from (
        select m.message_id, coalesce(m.crashes, 0) as crashes,
               case
                 when not reports then 'retry'
                 when m.message_id = culprit and coalesce(m.crashes, 0) + 1 >= max_crashes then 'bury'
                 when m.message_id in (select unnest(started)) then 'crashed'
                 else 'lost'
               end as how
          from batch_messages(batch_id) m
         where m.message_id not in (select unnest(settled))
      ) m
  );
end
$$;

-- Says that the handler of a message begins, before it does, or goes on beside others. 1 said; 0 with a warning: the batch is unknown or finished,
-- or its lease was taken away, and the handler must not begin. Errors: PQ003 the message is not in the batch.
create function report_started(batch_id bigint, message_id bigint, alone boolean, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  state record;
begin
  perform require_receive(caller, batch_queue(batch_id));
  if message_id is null or alone is null then
    raise exception using errcode = 'PQ004', message = 'expected the id of a message and whether it is handled alone, got: NULL';
  end if;
  perform check_in_batch(batch_id, array[message_id]);
  loop
    state := batch_state(batch_id);
    if state.messages is null or state.final or message_id = any (state.settled) then
      perform warn_not_settled(batch_id);
      return 0;
    end if;
    if append_outcome(batch_id, state.last_n + 1, false, '{}', message_id, alone) then
      return 1;
    end if;
  end loop;
end
$$;
