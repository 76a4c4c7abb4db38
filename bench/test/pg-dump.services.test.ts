import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Client } from "pg";
import { expect, test } from "vitest";
import { ownServer } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import { pgDump } from "#src/horizons/pg-dump";
import { siteOn } from "./support/site.ts";

const program = "/usr/lib/postgresql/15/bin/pg_dump";

test("the horizon pg-dump has locked what pg_dump has locked while it copies", async () => {
  await using server = await ownServer({ major: 15 });
  const { admin, ...site } = await siteOn(server);
  await admin.query(`
    create view public.v as select n from public.t;
    create materialized view public.m as select n from public.t;
    create unlogged table public.u (n int);
    create table public.p (n int) partition by list (n);
    create table public.p_1 partition of public.p for values in (1);
    create temporary table temporary (n int)`);
  // more than a pipe that nobody reads takes
  await admin.query("insert into public.t select n from generate_series(1, 1000000) as n");
  const dump = spawn(program, ["--data-only", server.url], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(dump, "exit");
  await until(async () => (await copying(admin)) !== null, "pg_dump copies");
  const theirs = await lockedBy(admin, await copying(admin));
  dump.kill();
  await ended;

  const holder = await pgDump.hold({ ...site, admin });
  const { rows } = await admin.query("select pid from pg_locks where relation = 'public.t'::regclass");
  expect(theirs).toContain("public.p_1");
  expect(await lockedBy(admin, rows[0].pid)).toEqual(theirs);
  await holder.release();
});

async function copying(admin: Client): Promise<number | null> {
  const { rows } = await admin.query(
    "select pid from pg_stat_activity where application_name = 'pg_dump' and query like 'COPY public.t %'",
  );
  return rows[0]?.pid ?? null;
}

/** Tables of users, by name. */
async function lockedBy(admin: Client, pid: number | null): Promise<string[]> {
  const { rows } = await admin.query(
    `select format('%I.%I', n.nspname, c.relname) as name
       from pg_locks l
       join pg_class c on c.oid = l.relation
       join pg_namespace n on n.oid = c.relnamespace
      where l.pid = $1 and l.mode = 'AccessShareLock' and c.relkind in ('r', 'p', 'm', 'v') and n.nspname !~ '^pg_'
      order by 1`,
    [pid],
  );
  return rows.map(({ name }) => name);
}
