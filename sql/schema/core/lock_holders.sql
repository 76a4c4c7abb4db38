-- Who holds a lock on one of these relations, or an advisory lock with one of these keys, and since when their transactions are open. The
-- caller's own session is left out.
create function lock_holders(relations oid[], keys bigint[] default '{}') returns table (holder text, since timestamptz)
language sql
volatile
set search_path from current
begin atomic
  select case when l.pid is null
           then format('prepared transaction %s', quote_literal(x.gid))
           else format('process %s (%s)', l.pid, concat_ws(', ', nullif(a.application_name, ''), coalesce('user ' || a.usename, '?')))
         end,
         coalesce(a.xact_start, x.prepared)
    from (
      select distinct k.pid, k.virtualtransaction
        from pg_locks k
       where k.granted
         and k.database = (select d.oid from pg_database d where d.datname = current_database())
         and (
           (k.locktype = 'relation' and k.relation = any (relations))
           or (k.locktype = 'advisory' and k.objsubid = 1 and (k.classid::bigint << 32 | k.objid::bigint) = any (keys))
         )
    ) l
    left join pg_stat_activity a on a.pid = l.pid
    -- the lock on its own transaction id says which one a prepared transaction is
    left join pg_locks own on l.pid is null and own.pid is null and own.locktype = 'transactionid' and own.virtualtransaction = l.virtualtransaction
    left join pg_prepared_xacts x on x.transaction = own.transactionid
   where l.pid is distinct from pg_backend_pid()
   order by l.pid;
end;
