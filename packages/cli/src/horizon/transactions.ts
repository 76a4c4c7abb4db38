import type { HolderQuery } from "./holder.ts";

/**
 * Open transactions that have a snapshot or a transaction id. Without either, as after the last statement of a READ COMMITTED transaction
 * that has written nothing, a transaction holds locks but no horizon.
 *
 * Sessions of other databases hold back the tables of theirs, not of this one; on a standby all of them are reported to the primary, by
 * hot_standby_feedback: without it none holds anything. A VACUUM holds back nobody but itself. Of other roles' sessions, only members of pg_read_all_stats see more than pid and age.
 */
export const transactions: HolderQuery = {
  kind: "transaction",
  sql: `
    select 'transaction' as kind, a.pid::text as name, 'tables' as holds,
           greatest(age(a.backend_xmin), age(a.backend_xid)) as age_transactions,
           extract(epoch from clock_timestamp() - a.xact_start)::float8 * 1000 as age_ms,
           a.state is distinct from 'idle in transaction' and a.state is distinct from 'idle in transaction (aborted)' as is_active,
           json_build_object(
             'pid', a.pid, 'user', a.usename, 'application', a.application_name, 'state', a.state, 'database', a.datname,
             'backendXmin', a.backend_xmin::text, 'backendXid', a.backend_xid::text,
             'backendStart', extract(epoch from a.backend_start)::text, 'xactStart', extract(epoch from a.xact_start)::text,
             'stateMs', extract(epoch from clock_timestamp() - a.state_change)::float8 * 1000, 'query', a.query,
             'isSuperuser', coalesce(u.rolsuper, false), 'backendType', a.backend_type
           ) as details,
           format('select pg_terminate_backend(%s)', a.pid) as ends_with,
           null::text as ends_where
      from pg_stat_activity a
      left join pg_roles u on u.oid = a.usesysid
     where a.pid <> pg_backend_pid()
       and (a.backend_xmin is not null or a.backend_xid is not null)
       and case when pg_is_in_recovery() then a.datname is not null and current_setting('hot_standby_feedback')::boolean
                else a.datname = current_database() end
       -- to whom the details are hidden, the type is hidden too
       and coalesce(a.backend_type, 'client backend') not in ('walsender', 'autovacuum worker')
       -- a parallel worker ends with its leader
       and a.leader_pid is null
       and not exists (select from pg_stat_replication s where s.pid = a.pid)
       and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)`,
};
