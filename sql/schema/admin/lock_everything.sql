-- All locks that repair needs, before it does anything.
--
-- Under traffic they cannot be waited for one after the other: transactions take theirs in orders of their own, and a deadlock would end repair
-- or somebody else. So each is waited for a moment, and where one is not to be had all are let go. That moment is far shorter than
-- deadlock_timeout. Advisory locks first, in the order of maintain; then the queues, in the order in which receives and acks lock them; then
-- what these write to.
create function try_lock_everything() returns boolean
language plpgsql
volatile
set search_path from current
set lock_timeout = '500ms'
as $$
declare
  of_queue int;
begin
  perform pg_advisory_xact_lock(lock_key(purpose, 0)) from unnest('{registry,heartbeat,dedupe,result,step,progress,delayed}'::text[]) as purpose;
  for of_queue in select q.id from queue q order by q.id loop
    perform pg_advisory_xact_lock(lock_key('maintain', of_queue));
    execute format(qualified('lock table only {schema}.batch_%s in access exclusive mode'), of_queue);
    execute format(qualified('lock table {schema}.outcome_%s in access exclusive mode'), of_queue);
    execute format(qualified('lock table {schema}.batch_%1$s, {schema}.message_%1$s in access exclusive mode'), of_queue);
  end loop;
  lock table delayed_soon_0, delayed_soon_0_log, delayed_soon_1, delayed_soon_1_log,
             delayed_later_0, delayed_later_0_log, delayed_later_1, delayed_later_1_log,
             cancelled_delayed_soon_0, cancelled_delayed_soon_1, cancelled_delayed_later_0, cancelled_delayed_later_1, dedupe, result, step, progress, heartbeat in access exclusive mode;
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

-- Tries for so long. What it waits for then is a transaction that does not end, which has to be ended by hand.
create function lock_everything(patience interval default '1 min') returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  started constant timestamptz := clock_timestamp();
begin
  while not try_lock_everything() loop
    if clock_timestamp() - started > patience then
      raise exception using
        errcode = 'lock_not_available',
        message = format('expected the tables of all queues to be free, found them in use for %s', patience),
        hint = 'Stop senders and workers, and end the transactions that hold locks on them: segment_status(queue) names them.';
    end if;
    -- for those who need the locks that were let go
    perform pg_sleep(0.02 + 0.08 * random());
  end loop;
end
$$;
