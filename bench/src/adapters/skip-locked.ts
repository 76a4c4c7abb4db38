import type pg from "pg";
import type { Adapter, Receive, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/payload.ts";
import { insertingBy, pulled } from "./support/pulled.ts";
import { tableJobs, tableSettings } from "./support/priority-table.ts";
import { steadyPlans } from "./support/steady-plans.ts";

const schema = `
  create schema skip_locked;
  create table skip_locked.job (
    id bigint generated always as identity primary key,
    state text not null default 'ready',
    payload text not null,
    created_at timestamptz not null default now(),
    claimed_at timestamptz
  ) with (autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000);
  create index job_ready on skip_locked.job (id) where state = 'ready';
  -- Statistics for the planner before the first row: otherwise the first plan is made for a table of unknown size.
  analyze skip_locked.job;`;

const insert = "insert into skip_locked.job (payload) select unnest($1::text[])";

// The pick is a CTE and not `id in (select … limit)`: there the planner may run the sub-select again for every row.
export const claim = `
  with picked as materialized (
    select id from skip_locked.job
     where state = 'ready'
     order by id
     limit $1
       for update skip locked
  )
  update skip_locked.job
     set state = 'claimed', claimed_at = now()
    from picked
   where job.id = picked.id
  returning job.id::text, job.payload`;

export const finish = "delete from skip_locked.job where id = any($1::bigint[])";

/** The textbook queue table. */
export const skipLocked: System = {
  name: "skip-locked",
  summary:
    "one table; INSERT, claim by UPDATE of rows picked with FOR UPDATE SKIP LOCKED, finish by DELETE. The pick as in depesz, " +
    '"What is SKIP LOCKED for" (2016); the three steps as in the system of that name in PgQue\'s xmin-horizon benchmark ' +
    "(NikolayS/PgQue #80); our own wording of both",
  settings: [
    "partial index on id of what is ready: a claim reads no row that is already taken",
    "autovacuum_vacuum_scale_factor 0.005 and cost limit 10000 on the table: so that nobody can say it was not tuned",
    "claims with synchronous_commit off, on a connection of their own, as pgque receives: a lost claim is only claimed again",
    "enable_seqscan, enable_bitmapscan, enable_hashjoin, enable_mergejoin off for its consumers: always the plan a full table gets",
  ],
  schema: "skip_locked",
  segments: null,
  async open(workload) {
    await workload.admin.query(schema);
    return pulled(workload, insertingBy(insert), (given) => consumer(given, together));
  },
};

/** Deletes claimed rows; how many there were. */
type Finish = (client: pg.Client, ids: string[]) => Promise<number>;

const together: Finish = async (client, ids) => {
  const { rowCount } = await client.query({ name: "finish", text: finish, values: [ids] });
  return rowCount ?? 0;
};

const oneByOne: Finish = async (client, ids) => {
  let deleted = 0;
  for (const id of ids) {
    const { rowCount } = await client.query({ name: "finish", text: finishOne, values: [id] });
    deleted += rowCount ?? 0;
  }
  return deleted;
};

async function consumer(workload: Workload, finishRows: Finish): Promise<Receive> {
  const claiming = await workload.connect("consumer claim", { synchronousCommit: "off" });
  const finishing = await workload.connect("consumer finish");
  await Promise.all([claiming, finishing].map(steadyPlans));
  return async () => {
    const values = [workload.batch];
    const { rows } = await workload.tally.pick(() =>
      claiming.query<[string, string]>({ name: "claim", text: claim, values, rowMode: "array" }),
    );
    if (rows.length === 0) return 0;
    for (const [, payload] of rows) workload.tally.received(dueOf(payload));
    const ids = rows.map(([id]) => id);
    workload.tally.finished(await finishRows(finishing, ids));
    return rows.length;
  };
}

const finishOne = "delete from skip_locked.job where id = $1::bigint";

/** The same with the DELETE of PgQue's script, which is called once a row. */
export const skipLockedRows: System = {
  ...skipLocked,
  name: "skip-locked-rows",
  summary:
    "skip-locked, whose DELETE finishes one row at a time, here each in a transaction of its own. One row at a time is what the script deletes in " +
    "PgQue's xmin-horizon benchmark (NikolayS/PgQue #80), which is described as INSERT, UPDATE, DELETE",
  async open(workload) {
    await workload.admin.query(schema);
    return pulled(workload, insertingBy(insert), (given) => consumer(given, oneByOne));
  },
};

const deleteSchema = `
  create schema skip_locked_delete;
  create table skip_locked_delete.job (
    id bigint generated always as identity primary key,
    payload text not null,
    created_at timestamptz not null default now()
  ) with (autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000);
  -- Statistics for the planner before the first row: otherwise the first plan is made for a table of unknown size.
  analyze skip_locked_delete.job;`;

const insertDelete = "insert into skip_locked_delete.job (payload) select unnest($1::text[])";

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
    await workload.admin.query(deleteSchema);
    return pulled(workload, insertingBy(insertDelete), deletingConsumer);
  },
};

async function deletingConsumer(workload: Workload): Promise<Receive> {
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

export const adapter: Adapter = {
  load: [skipLocked, skipLockedRows, skipLockedDelete],
  pick: [
    {
      name: "skip-locked",
      summary:
        'one table; SELECT … FOR UPDATE SKIP LOCKED of the first row by priority and time, DELETE. After depesz, "What is SKIP LOCKED for" (2016), in our own wording',
      settings: tableSettings,
      publishedSeconds: 15.6,
      ...tableJobs("select id::text, payload from job order by priority desc, added_on limit 1 for update skip locked"),
    },
  ],
  degradation: [{ name: "skip-locked", system: skipLocked, batch: 1 }],
};
