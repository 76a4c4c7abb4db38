import type { HolderQuery } from "./holder.ts";

/** Transactions that were prepared and neither committed nor rolled back: they outlive their session, and restarts. */
export const preparedTransactions: HolderQuery = {
  kind: "prepared transaction",
  sql: `
    select 'prepared transaction', p.gid, 'tables', age(p.transaction),
           extract(epoch from clock_timestamp() - p.prepared)::float8 * 1000, false,
           json_build_object('owner', p.owner, 'database', p.database, 'transaction', p.transaction::text),
           format('rollback prepared %L', p.gid), null
      from pg_prepared_xacts p
     where p.database = current_database()`,
};
