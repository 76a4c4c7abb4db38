import { Pgque } from "@pgque/client";
import { expect, test } from "vitest";
import { ownServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, startWorker } from "./support/worker.ts";

const queues = 10;

/** Statements by what they call, as the server counts them. */
interface Counted {
  calls: number;
  walBytes: number;
}

test("an idle process polls without WAL, and asks once a round what is once for all its queues", async () => {
  await using own = await ownServer({
    settings: { shared_preload_libraries: "pg_stat_statements", autovacuum: false },
  });
  const admin = await own.connect();
  await admin.query("create extension pg_stat_statements schema public");
  const pgque = new Pgque(own.pool({ max: 3 }));
  const options = { fallbackPollMs: 200, maintainIntervalMs: 200, heartbeatIntervalMs: 200 };
  for (let i = 0; i < queues; i += 1) await startWorker(pgque, await freshQueue(pgque), () => undefined, options);

  const counted = async (what: string): Promise<Counted> => {
    const { rows } = await admin.query(
      `select coalesce(sum(calls), 0)::int as calls, coalesce(sum(wal_bytes), 0)::int as "walBytes"
         from public.pg_stat_statements where query not like '%pg_stat_statements%' and query ~ $1`,
      [what],
    );
    return rows[0];
  };
  const calls = async (what: string): Promise<number> => (await counted(what)).calls;
  // the first polls of a session prune pages of the catalog
  await until(async () => (await calls("receive_messages")) > 20 * queues, "they have settled down");
  await admin.query("select public.pg_stat_statements_reset()");
  await until(async () => (await calls("receive_messages")) > 10 * queues, "each has polled ten times or so");

  const polls = await calls("receive_messages");
  expect(await calls("maintain_queue"), "queues at rest").toBe(0);
  // as often as one queue polls, but for rounds that a slow machine tears apart
  for (const shared of ["deliver_due", "queues_to_maintain", "maintain_shared", "next_due_at"])
    expect(await calls(shared), shared).toBeLessThan(polls / 2);
  expect(await calls("raise_idle_flag|lower_idle_flag|has_open_senders|heartbeat|listen")).toBe(0);
  // nothing but these, the question whether the line is there, and the rounds of the schedules
  expect(
    await calls("^(?!.*(receive_messages|maintain|deliver_due|next_due_at|schedules|clock_timestamp|^select$))"),
  ).toBe(0);
  expect((await counted("receive_messages")).walBytes).toBe(0);
});

test("an idle process takes no transaction ids", async () => {
  await using own = await ownServer({ settings: { autovacuum: false } });
  const admin = await own.connect();
  const pgque = new Pgque(own.pool({ max: 3 }));
  const options = { fallbackPollMs: 50, maintainIntervalMs: 100, heartbeatIntervalMs: 100 };
  for (let i = 0; i < queues; i += 1) await startWorker(pgque, await freshQueue(pgque), () => undefined, options);
  /** Transactions of this database so far, and the next transaction id. */
  const counters = async (): Promise<{ committed: number; next: number }> => {
    const { rows } = await admin.query(
      `select xact_commit::int as committed, pg_snapshot_xmax(pg_current_snapshot())::text::int as next
         from pg_stat_database where datname = current_database()`,
    );
    return rows[0];
  };
  const settled = await counters();
  await until(async () => (await counters()).committed > settled.committed + 500, "they have settled down");
  const before = await counters();
  await until(async () => (await counters()).committed > before.committed + 500, "they have polled");
  expect((await counters()).next).toBe(before.next);
});
