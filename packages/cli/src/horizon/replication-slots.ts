import type { HolderQuery } from "./holder.ts";
import { feedbackOff, orEndThere } from "./standbys.ts";

/**
 * Replication slots. The xmin of a slot, which a standby's feedback sets, holds back all tables; its catalog_xmin, which every logical slot
 * has, the system catalog alone. pg_conflict_detection is PostgreSQL's own, for subscriptions with retain_dead_tuples (19 and later).
 *
 * Columns of later versions are read through JSON: inactive_since is of 17.
 */
export const replicationSlots: HolderQuery = {
  kind: "replication slot",
  sql: `
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
     where s.xmin is not null or s.catalog_xmin is not null`,
};
