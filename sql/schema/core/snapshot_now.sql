-- The only way to take a snapshot that is stored.
--
-- pg_current_snapshot() leaves the caller's own transaction out of its list of those in progress. What the same
-- transaction writes later would then count as visible in the snapshot, that is as already received: after
-- "begin; subscribe; send; commit" the message was lost. So the own transaction id is added when it is assigned and
-- below xmax (at or after xmax it counts as in progress anyway).
--
-- On a standby the server's snapshot does not list the transactions that are in progress on the primary. Whoever went on from it would miss
-- their messages for ever.
--
-- STABLE matters: the function then sees with the snapshot of the statement that calls it, not with a newer one of its own.
create function snapshot_now() returns pg_snapshot
language plpgsql
stable
set search_path from current
as $$
declare
  taken constant pg_snapshot := pg_current_snapshot();
  own constant xid8 := pg_current_xact_id_if_assigned();
  in_progress text;
begin
  if pg_is_in_recovery() then
    raise exception using
      errcode = 'read_only_sql_transaction',
      message = 'this server is a standby: its snapshots do not say which transactions are in progress',
      hint = 'Call this on the primary. peek, find_message and the functions for status work on a standby.';
  end if;
  if own is null or own >= pg_snapshot_xmax(taken) then
    return taken;
  end if;
  select string_agg(x::text, ',' order by x)
    into in_progress
    from (select pg_snapshot_xip(taken) union select own) as open(x);
  return format('%s:%s:%s', least(pg_snapshot_xmin(taken)::text::numeric, own::text::numeric), pg_snapshot_xmax(taken), in_progress)::pg_snapshot;
end
$$;
