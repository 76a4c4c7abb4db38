import type { Adapter, Receive, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/payload.ts";
import { insertingBy, pulled } from "./support/pulled.ts";
import { tableJobs, tableSettings } from "./support/priority-table.ts";
import { steadyPlans } from "./support/steady-plans.ts";

const schema = `
  create schema advisory_lock;
  create table advisory_lock.job (
    id bigint generated always as identity primary key,
    payload text not null,
    created_at timestamptz not null default now()
  ) with (autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000);
  -- Statistics for the planner before the first row: otherwise the first plan is made for a table of unknown size.
  analyze advisory_lock.job;`;

const insert = "insert into advisory_lock.job (payload) select unnest($1::text[])";

// `for update` reads a row again that another has deleted since the snapshot was taken, and leaves it out: the advisory lock
// alone would give it out a second time.
const pick = `
  select id::text, payload
    from advisory_lock.job
   where pg_try_advisory_xact_lock(id)
   order by job.id
   limit $1
     for update`;

const remove = "delete from advisory_lock.job where id = any($1::bigint[])";

/** How one picked a row that nobody else had before there was SKIP LOCKED. */
export const advisoryLock: System = {
  name: "advisory-lock",
  summary:
    "one table; INSERT, and a transaction in which rows are picked by pg_try_advisory_xact_lock as the index is walked, handled and " +
    'deleted. After depesz, "Pick a task to work on" (2013), in our own wording',
  settings: [
    "the lock is the transaction's: it cannot outlive the consumer, and ends with the DELETE",
    "autovacuum_vacuum_scale_factor 0.005 and cost limit 10000 on the table, as for skip-locked",
    "enable_seqscan, enable_bitmapscan, enable_hashjoin, enable_mergejoin off for its consumers: a plan that sorts would lock every row",
  ],
  schema: "advisory_lock",
  segments: null,
  async open(workload) {
    await workload.admin.query(schema);
    return pulled(workload, insertingBy(insert), consumer);
  },
};

async function consumer(workload: Workload): Promise<Receive> {
  const { batch, tally } = workload;
  const client = await workload.connect("consumer");
  await steadyPlans(client);
  return async () => {
    await client.query("begin");
    const { rows } = await client.query<[string, string]>({
      name: "pick",
      text: pick,
      values: [batch],
      rowMode: "array",
    });
    for (const [, payload] of rows) tally.received(dueOf(payload));
    if (rows.length > 0) await client.query({ name: "remove", text: remove, values: [rows.map(([id]) => id)] });
    await client.query("commit");
    tally.finished(rows.length);
    return rows.length;
  };
}

export const adapter: Adapter = {
  load: [advisoryLock],
  pick: [
    {
      name: "advisory-lock",
      summary:
        "one table; the first row by priority and time whose pg_try_advisory_xact_lock is got, DELETE. After depesz, as skip-locked, in our own wording",
      settings: [
        ...tableSettings,
        "FOR UPDATE besides: it leaves out a row that another has deleted since the snapshot was taken, which the advisory lock alone would give out again",
      ],
      publishedSeconds: 15.8,
      ...tableJobs(
        "select id::text, payload from job where pg_try_advisory_xact_lock(id) order by priority desc, added_on limit 1 for update",
      ),
    },
  ],
};
