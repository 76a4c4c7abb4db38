import type { HolderQuery } from "./holder.ts";

/** What ends a standby's hold for good. */
export const feedbackOff = "alter system set hot_standby_feedback = off; select pg_reload_conf()";

/** What ends it for now. */
export const orEndThere = " (or end what runs there: `pgque guard --follower` names it)";

/** Standbys with hot_standby_feedback and without a slot: their sender holds the horizon for the oldest query that runs over there. */
export const standbys: HolderQuery = {
  kind: "standby",
  sql: `
    select 'standby', r.pid::text, 'tables', age(r.backend_xmin), null::float8, true,
           json_build_object(
             'pid', r.pid, 'application', r.application_name, 'user', r.usename, 'clientAddress', host(r.client_addr),
             'state', r.state, 'backendXmin', r.backend_xmin::text
           ),
           '${feedbackOff}',
           format('on the standby %s%s', quote_ident(r.application_name), coalesce(' at ' || host(r.client_addr), '')) || '${orEndThere}'
      from pg_stat_replication r
     where r.backend_xmin is not null`,
};
