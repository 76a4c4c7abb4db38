import type { Adapter, Receive, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/messages.ts";
import { tableJobs, tableSettings } from "./support/priority-table.ts";
import { steadyPlans, tableQueue } from "./support/table.ts";

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
export const advisoryLock: System = tableQueue({
  name: "advisory-lock",
  summary:
    "one table; INSERT, and a transaction in which rows are picked by pg_try_advisory_xact_lock as the index is walked, handled and " +
    'deleted. After depesz, "Pick a task to work on" (2013), in our own wording',
  settings: [
    "the lock is the transaction's: it cannot outlive the consumer, and ends with the DELETE",
    "no plan that sorts, which would lock every row: the planner has but one",
  ],
  schema: "advisory_lock",
  columns: `
    id bigint generated always as identity primary key,
    payload text not null,
    created_at timestamptz not null default now()`,
  consumer,
});

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
