import type { Client } from "pg";
import type { TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import type { HorizonContext } from "#src/horizons/horizon";

/** What a horizon is given in a test, and how the test sees what it does. */
export interface Site extends HorizonContext {
  useTransactions(count: number): Promise<void>;
  /** Ends every session but `admin`'s, and waits until they are gone. */
  killOthers(): Promise<void>;
  /** A row version of the table `public.t` dies. */
  makeDeadTuple(): Promise<void>;
  /** After a VACUUM of the table. */
  deadTuples(table?: string): Promise<number>;
  /** Ends every session. */
  close(): Promise<void>;
}

/** Of a server of the test's own: slots and prepared transactions belong to all its databases. */
export async function siteOn(server: TestDatabase, given: Partial<HorizonContext> = {}): Promise<Site> {
  const admin = await server.connect();
  await admin.query("create extension if not exists pgstattuple schema public");
  await admin.query("drop table if exists public.t; create table public.t (n int)");
  return {
    admin,
    connect: () => server.connect(),
    url: server.url,
    heldSeconds: 180,
    systemName: "pgque",
    sent: () => 0,
    ...given,
    async useTransactions(count) {
      for (let n = 0; n < count; n++) await admin.query("select pg_current_xact_id()");
    },
    killOthers: () => killOthers(admin),
    async makeDeadTuple() {
      await admin.query("insert into public.t values (1)");
      await admin.query("delete from public.t");
    },
    async deadTuples(table = "public.t") {
      await admin.query(`vacuum ${table}`);
      const { rows } = await admin.query<{ dead: number }>(
        "select dead_tuple_count::float8 as dead from public.pgstattuple($1::regclass)",
        [table],
      );
      return rows[0]?.dead ?? Number.NaN;
    },
    async close() {
      await killOthers(admin);
      await admin.end();
    },
  };
}

async function killOthers(admin: Client): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(pid, 20000) from pg_stat_activity
      where pid <> pg_backend_pid() and backend_type in ('client backend', 'walsender')`,
  );
}

/** Until VACUUM has removed everything: somebody in passing, as an autovacuum, may hold it back for a moment. */
export async function vacuumedAway(site: Site, table?: string): Promise<void> {
  await until(async () => (await site.deadTuples(table)) === 0, `the dead tuples of ${table ?? "the table"} are gone`);
}

/** What could be left behind of a holder. */
export async function leftovers(admin: Client): Promise<{ slots: number; prepared: number; sessions: number }> {
  const { rows } = await admin.query(`
    select (select count(*)::int from pg_replication_slots) as slots,
           (select count(*)::int from pg_prepared_xacts) as prepared,
           (select count(*)::int from pg_stat_activity
             where pid <> pg_backend_pid() and backend_type in ('client backend', 'walsender')) as sessions`);
  return rows[0];
}

const nothingLeft = { slots: 0, prepared: 0, sessions: 0 };

/** Waits for it: a server notices a lost connection, and lets a slot go, a moment later. */
export const nothingIsLeft = (admin: Client): Promise<void> =>
  until(async () => JSON.stringify(await leftovers(admin)) === JSON.stringify(nothingLeft), "nothing is left");
