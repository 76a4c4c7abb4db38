// A query of each kind of holder. Its columns are the members of a `Holder`, in their order.

/**
 * Open transactions that have a snapshot or a transaction id. Without either, as after the last statement of a READ COMMITTED transaction
 * that has written nothing, a transaction holds locks but no horizon.
 *
 * Sessions of other databases hold back the tables of theirs, not of this one; on a standby all of them are reported to the primary, by
 * hot_standby_feedback: without it none holds anything. A VACUUM holds back nobody but itself. Of other roles' sessions, only members of pg_read_all_stats see more than pid and age.
 */
export const transactions = `
    select 'transaction', a.pid::text, 'tables', greatest(age(a.backend_xmin), age(a.backend_xid)),
           extract(epoch from clock_timestamp() - a.xact_start)::float8 * 1000,
           a.state is distinct from 'idle in transaction' and a.state is distinct from 'idle in transaction (aborted)',
           json_build_object(
             'pid', a.pid, 'user', a.usename, 'application', a.application_name, 'state', a.state, 'database', a.datname,
             'backendXmin', a.backend_xmin::text, 'backendXid', a.backend_xid::text,
             'backendStart', extract(epoch from a.backend_start)::text, 'xactStart', extract(epoch from a.xact_start)::text,
             'stateMs', extract(epoch from clock_timestamp() - a.state_change)::float8 * 1000, 'query', a.query,
             'isSuperuser', coalesce(u.rolsuper, false), 'backendType', a.backend_type
           ),
           format('select pg_terminate_backend(%s)', a.pid), null::text
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
       and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)`;

/** Transactions that were prepared and neither committed nor rolled back: they outlive their session, and restarts. */
export const preparedTransactions = `
    select 'prepared transaction', p.gid, 'tables', age(p.transaction),
           extract(epoch from clock_timestamp() - p.prepared)::float8 * 1000, false,
           json_build_object('owner', p.owner, 'database', p.database, 'transaction', p.transaction::text),
           format('rollback prepared %L', p.gid), null
      from pg_prepared_xacts p
     where p.database = current_database()`;

/** What ends a standby's hold for good. */
const feedbackOff = "alter system set hot_standby_feedback = off; select pg_reload_conf()";

/** What ends it for now. */
const orEndThere = " (or end what runs there: `pgque guard --follower` names it)";

/** Standbys with hot_standby_feedback and without a slot: their sender holds the horizon for the oldest query that runs over there. */
export const standbys = `
    select 'standby', r.pid::text, 'tables', age(r.backend_xmin), null::float8, true,
           json_build_object(
             'pid', r.pid, 'application', r.application_name, 'user', r.usename, 'clientAddress', host(r.client_addr),
             'state', r.state, 'backendXmin', r.backend_xmin::text
           ),
           '${feedbackOff}',
           format('on the standby %s%s', quote_ident(r.application_name), coalesce(' at ' || host(r.client_addr), '')) || '${orEndThere}'
      from pg_stat_replication r
     where r.backend_xmin is not null`;

/**
 * Replication slots. The xmin of a slot, which a standby's feedback sets, holds back all tables; its catalog_xmin, which every logical slot
 * has, the system catalog alone. pg_conflict_detection is PostgreSQL's own, for subscriptions with retain_dead_tuples (19 and later).
 *
 * Columns of later versions are read through JSON: inactive_since is of 17.
 */
export const replicationSlots = `
    select 'replication slot', s.slot_name::text, case when s.xmin is null then 'catalog' else 'tables' end,
           age(coalesce(s.xmin, s.catalog_xmin)),
           case when not s.active
             then extract(epoch from clock_timestamp() - (to_jsonb(s) ->> 'inactive_since')::timestamptz)::float8 * 1000
           end,
           s.active,
           json_build_object(
             'type', s.slot_type, 'database', s.database, 'plugin', s.plugin, 'pid', s.active_pid,
             'xmin', s.xmin::text, 'catalogXmin', s.catalog_xmin::text, 'walStatus', s.wal_status,
             'retainedWalBytes', pg_wal_lsn_diff(
               case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, s.restart_lsn
             )::float8
           ),
           case
             when s.slot_name = 'pg_conflict_detection' then 'alter subscription … set (retain_dead_tuples = false)'
             when s.active and s.xmin is not null then '${feedbackOff}'
             else format('select pg_drop_replication_slot(%L)', s.slot_name)
           end,
           case
             when s.slot_name = 'pg_conflict_detection' or not s.active then null
             when s.xmin is not null then 'on the standby that reads it${orEndThere}'
             else 'here, once what reads it has stopped'
           end
      from pg_replication_slots s
     where s.xmin is not null or s.catalog_xmin is not null`;
