import type pg from "pg";
import type { TestDatabase } from "../../../../test/support/database.ts";
import { pause } from "../../cursor/workload.ts";
import { isCancelled } from "../../support/sessions.ts";
import type { Ledger } from "./ledger.ts";

/** What everybody in a storm shares. */
export interface Storm {
  database: TestDatabase;
  ledger: Ledger;
  random: () => number;
  raging: boolean;
  /** A session that nobody disturbs. */
  witness: pg.Client;
  /** For those whose connection has just broken. */
  lookUps: pg.Pool;
  nextNumber(): number;
  /** Values that the rings' pointers have had: one for each time that one moved. */
  pointers: Set<string>;
}

/** Marks a session as one that may be cancelled or terminated at any moment. */
export async function expose(client: pg.Client): Promise<void> {
  await client.query("set application_name = 'in the storm'");
}

/** Ends the transaction, whoever cancels that. */
export async function rollBack(client: pg.Client): Promise<void> {
  for (;;) {
    try {
      await client.query("rollback");
      return;
    } catch (error) {
      if (!isCancelled(error)) throw error;
    }
  }
}

const exposed = "datname = current_database() and application_name = 'in the storm'";

/** Cancels whatever statement is running. */
export async function cancelStatements(storm: Storm, client: pg.Client): Promise<void> {
  while (storm.raging) {
    await client.query(`
      select pg_cancel_backend(pid)
        from (select pid from pg_stat_activity where ${exposed} and state = 'active' order by random() limit 1) as one`);
    await pause(storm.random() * 40);
  }
}

/** Terminates sessions, whatever they are doing. */
export async function terminateSessions(storm: Storm, client: pg.Client): Promise<void> {
  while (storm.raging) {
    await client.query(`
      select pg_terminate_backend(pid)
        from (select pid from pg_stat_activity where ${exposed} order by random() limit 1) as one`);
    await pause(storm.random() * 100);
  }
}

/** Maintains all the time where it may be cancelled: what a call has recovered is then undone. */
export async function maintainExposed(storm: Storm, client: pg.Client): Promise<void> {
  await expose(client);
  await maintainAlways(storm, client);
}

/** Delivers, recovers and rotates all the time. */
export async function maintainAlways(storm: Storm, client: pg.Client): Promise<void> {
  while (storm.raging) {
    try {
      await client.query("select pgque.maintain()");
      const { rows } = await client.query(
        `select name || ' ' || pg_sequence_last_value('pgque.' || name) as value
           from unnest('{segment_pointer_1,delayed_soon_pointer,delayed_later_pointer,heartbeat_pointer}'::text[]) as name`,
      );
      for (const { value } of rows) storm.pointers.add(value);
    } catch (error) {
      if (!isCancelled(error)) throw error;
      storm.ledger.cancelled += 1;
    }
    await pause(storm.random() * 10);
  }
}

export async function sessionsInTheStorm(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`select count(*)::int as n from pg_stat_activity where ${exposed}`);
  return rows[0].n;
}
