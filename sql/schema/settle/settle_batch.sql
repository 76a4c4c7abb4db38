-- A whole batch in one call, each message its own way.

-- The lists of settle as one, checked.
create function outcomes_of_lists(
  retry_ids bigint[], retry_after interval[], reasons text[], release_ids bigint[], snooze_ids bigint[], snooze_after interval[],
  dead_ids bigint[], dead_reasons text[]
) returns requeued[]
language plpgsql
immutable
set search_path from current
as $$
declare
  given requeued[];
  ambiguous text;
begin
  if cardinality(retry_ids) <> cardinality(retry_after) or cardinality(reasons) not in (0, cardinality(retry_ids)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many retry_after as retry_ids (%s) and as many reasons or none, got: %s and %s',
        cardinality(retry_ids), cardinality(retry_after), cardinality(reasons));
  elsif cardinality(snooze_ids) <> cardinality(snooze_after) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many snooze_after as snooze_ids (%s), got: %s', cardinality(snooze_ids), cardinality(snooze_after));
  elsif cardinality(dead_reasons) not in (0, cardinality(dead_ids)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many dead_reasons as dead_ids (%s) or none, got: %s', cardinality(dead_ids), cardinality(dead_reasons));
  end if;
  perform check_wait('retry_after', retry_after), check_wait('snooze_after', snooze_after);
  given := array(
    select distinct on (g.how, g.message_id) row(g.*)::requeued
      from (
        select r.id as message_id, 'retry' as how, r.wait, r.reason from unnest(retry_ids, retry_after, reasons) as r(id, wait, reason)
        union all
        select s.id, 'snooze', s.wait, null from unnest(snooze_ids, snooze_after) as s(id, wait)
        union all
        select r.id, 'release', null, null from unnest(release_ids) as r(id)
        union all
        select d.id, 'bury', null, d.reason from unnest(dead_ids, dead_reasons) as d(id, reason)
      ) g
  );
  select string_agg(twice.id::text, ', ')
    into ambiguous
    from (select g.message_id from unnest(given) as g group by g.message_id having count(*) > 1 order by g.message_id) as twice(id);
  if ambiguous is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected retry_ids, release_ids, snooze_ids and dead_ids to have no message in common, got more than once: %s', ambiguous);
  end if;
  return given;
end
$$;

-- Finishes a batch in one call. All that no list names is acked; no message is in two lists, and lists that belong together are as long
-- as each other, those of reasons or empty.
--   retry_ids    tried again after their retry_after, one attempt further; dead letters, with their reasons, when their attempts are used up
--   release_ids  given back at once without using an attempt (in their place, if the consumer is exclusive or ordered)
--   snooze_ids   given back without using an attempt, to come again after their snooze_after. They wait where a failed message does: with
--                an ordered consumer that blocks in their lane, which waits with them, with any other apart, while others are delivered
--   dead_ids     dead letters now, with their dead_reasons, whatever attempts they have left; a lane goes on
-- 1 done, 0 (with a warning) unknown, finished or lease lost.
-- Errors: PQ003 a message that is not in the batch, PQ004 lists that do not belong together, a time that is not from 0 to 100 years.
create function settle(
  batch_id bigint,
  retry_ids bigint[] default '{}',
  retry_after interval[] default '{}',
  reasons text[] default '{}',
  release_ids bigint[] default '{}',
  snooze_ids bigint[] default '{}',
  snooze_after interval[] default '{}',
  dead_ids bigint[] default '{}',
  dead_reasons text[] default '{}',
  caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  given requeued[];
  mode record;
  is_done boolean;
begin
  perform require_receive(caller, batch_queue(batch_id));
  retry_ids := coalesce(retry_ids, '{}');
  retry_after := coalesce(retry_after, '{}');
  reasons := coalesce(reasons, '{}');
  release_ids := coalesce(release_ids, '{}');
  snooze_ids := coalesce(snooze_ids, '{}');
  snooze_after := coalesce(snooze_after, '{}');
  dead_ids := coalesce(dead_ids, '{}');
  dead_reasons := coalesce(dead_reasons, '{}');
  if cardinality(retry_ids) + cardinality(retry_after) + cardinality(reasons) + cardinality(release_ids)
    + cardinality(snooze_ids) + cardinality(snooze_after) + cardinality(dead_ids) + cardinality(dead_reasons) = 0 then
    return ack(batch_id);
  end if;
  given := outcomes_of_lists(retry_ids, retry_after, reasons, release_ids, snooze_ids, snooze_after, dead_ids, dead_reasons);
  perform check_in_batch(batch_id, array(select g.message_id from unnest(given) as g));
  mode := batch_mode(batch_id);
  if mode.mode = 'ordered' then
    is_done := hold(batch_id, given, others_stay => false) is not null;
  elsif mode.mode = 'exclusive' then
    is_done := settle_ordered(batch_id, given);
  else
    is_done := settle_shared(batch_id, given);
  end if;
  if not is_done then
    perform warn_not_settled(batch_id);
  end if;
  return is_done::int;
end
$$;

-- Finishes a batch, and writes what is given back of it again. False: unknown, finished or lease lost.
create function settle_shared(batch_id bigint, given requeued[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  fresh constant bigint[] := settle_messages(batch_id, array(select g.message_id from unnest(given) as g), true);
begin
  if fresh is not null then
    perform requeue(batch_id, filter_requeued(given, fresh));
  end if;
  return fresh is not null;
end
$$;

-- The same of an exclusive consumer: what is released stays in its place, and so in the batch, for whoever receives next.
create function settle_ordered(batch_id bigint, given requeued[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  released constant bigint[] := array(select g.message_id from unnest(given) as g where g.how = 'release');
  fresh bigint[];
begin
  if cardinality(released) = 0 then
    return settle_shared(batch_id, given);
  end if;
  fresh := settle_messages(batch_id, array(select m.message_id from batch_messages(batch_id) m where m.message_id not in (select unnest(released))), false);
  if cardinality(fresh) > 0 then
    perform requeue(batch_id, filter_requeued(given, fresh));
  end if;
  perform wake(batch_queue(batch_id));
  return fresh is not null;
end
$$;
