import { dueOf } from "../load/payload.ts";
import { insertingBy, pulled } from "./pulled.ts";
import { steadyPlans } from "./skip-locked.ts";
import type { Receive, System, Workload } from "./system.ts";

const schema = `
  create schema skip_locked_delete;
  create table skip_locked_delete.job (
    id bigint generated always as identity primary key,
    payload text not null,
    created_at timestamptz not null default now()
  ) with (autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000);
  -- Statistics for the planner before the first row: otherwise the first plan is made for a table of unknown size.
  analyze skip_locked_delete.job;`;

const insert = "insert into skip_locked_delete.job (payload) select unnest($1::text[])";

export const take = `
  with picked as materialized (
    select id from skip_locked_delete.job
     order by id
     limit $1
       for update skip locked
  )
  delete from skip_locked_delete.job
   using picked
   where job.id = picked.id
  returning job.payload`;

/** The least that a queue table can do: half the writes of skip-locked, and no second chance for a message. */
export const skipLockedDelete: System = {
  name: "skip-locked-delete",
  summary:
    "one table; INSERT, and one statement that deletes rows picked with FOR UPDATE SKIP LOCKED and returns them. What it has " +
    "returned is gone: a consumer that crashes loses its batch, where the other systems deliver it again",
  settings: [
    "autovacuum_vacuum_scale_factor 0.005 and cost limit 10000 on the table, as for skip-locked",
    "the one statement has the run's synchronous_commit: it is what finishes a batch",
    "enable_seqscan, enable_bitmapscan, enable_hashjoin, enable_mergejoin off for its consumers: always the plan a full table gets",
  ],
  schema: "skip_locked_delete",
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
    const { rows } = await client.query<[string]>({ name: "take", text: take, values: [batch], rowMode: "array" });
    for (const [payload] of rows) tally.received(dueOf(payload));
    tally.finished(rows.length);
    return rows.length;
  };
}
