-- How many of the messages that are kept a consumer has skipped, because it was subscribed, or placed by seek, at the latest position: counted
-- to 10,001, which is more than 10,000. 0: it begins at the earliest message kept, or at a time. Null: it is so long ago that nobody knows.
-- To be asked right after subscribe, by whoever may receive; reads so many rows at most, unless a great part of what is kept has expired.
-- Errors: PQ001 no such queue, PQ002 no such consumer.
create function skipped_messages(queue text, consumer text, caller caller default current_user) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
  of_consumer constant int := require_consumer(of_queue, consumer);
  started_after pg_snapshot;
  skipped int;
begin
  -- of the first row of the cursor: the same in all lanes
  execute format(qualified('select b.prev_snapshot from {schema}.batch_%s b where b.consumer_id = $1 and b.lane = 0 and b.batch_no = 1'), of_queue)
    into started_after using of_consumer;
  -- not looked for one by one: a consumer that begins at the earliest has skipped none of all that is kept
  if pg_snapshot_xmax(started_after) = '1' then
    return 0;
  end if;
  execute format(qualified($sql$
    select count(*)
      from (
        select from {schema}.message_%s m
         where m.consumer_id is null
           and pg_visible_in_snapshot(m.txid, $1)
           and (m.expires_at is null or m.expires_at > statement_timestamp())
         limit 10001
      ) as first_ones
  $sql$), of_queue) into skipped using started_after;
  return case when started_after is not null then skipped end;
end
$$;
