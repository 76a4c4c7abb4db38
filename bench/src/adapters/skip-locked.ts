import type { Adapter, System } from "./adapter.ts";
import { tableJobs, tableSettings } from "./support/priority-table.ts";
import { finishingBy, receivingBy, steadyPlansSetting, tableQueue, tunedSetting, tunedTable } from "./support/table.ts";
import { wokenWorkers } from "./support/woken-workers.ts";

const table = {
  schema: "skip_locked",
  columns: `
    id bigint generated always as identity primary key,
    state text not null default 'ready',
    payload text not null,
    created_at timestamptz not null default now(),
    claimed_at timestamptz`,
  more: "create index job_ready on skip_locked.job (id) where state = 'ready'",
};

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

const settings = [
  "partial index on id of what is ready: a claim reads no row that is already taken",
  "claims with synchronous_commit off, on a connection of their own, as pgque receives: a lost claim is only claimed again",
];

/** The textbook queue table. */
export const skipLocked: System = tableQueue({
  name: "skip-locked",
  summary:
    "one table; INSERT, claim by UPDATE of rows picked with FOR UPDATE SKIP LOCKED, finish by DELETE. The pick as in depesz, " +
    '"What is SKIP LOCKED for" (2016); the three steps as in the system of that name in PgQue\'s xmin-horizon benchmark ' +
    "(NikolayS/PgQue #80); our own wording of both",
  settings,
  ...table,
  consumer: (workload) =>
    receivingBy(workload, {
      receive: { text: claim, values: [workload.batch] },
      finish: finishingBy(finish),
      isSteady: true,
    }),
});

/** The same with the DELETE of PgQue's script, which is called once a row. */
export const skipLockedRows: System = tableQueue({
  name: "skip-locked-rows",
  summary:
    "skip-locked, whose DELETE finishes one row at a time, here each in a transaction of its own. One row at a time is what the script deletes in " +
    "PgQue's xmin-horizon benchmark (NikolayS/PgQue #80), which is described as INSERT, UPDATE, DELETE",
  settings,
  ...table,
  consumer: (workload) =>
    receivingBy(workload, {
      receive: { text: claim, values: [workload.batch] },
      async finish(client, ids) {
        let deleted = 0;
        for (const id of ids) deleted += await finishingBy(finish)(client, [id]);
        return deleted;
      },
      isSteady: true,
    }),
});

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
  returning null, job.payload`;

/** The least that a queue table can do: half the writes of skip-locked, and no second chance for a message. */
export const skipLockedDelete: System = tableQueue({
  name: "skip-locked-delete",
  summary:
    "one table; INSERT, and one statement that deletes rows picked with FOR UPDATE SKIP LOCKED and returns them. What it has " +
    "returned is gone: a consumer that crashes loses its batch, where the other systems deliver it again",
  settings: ["the one statement has the run's synchronous_commit: it is what finishes a batch"],
  schema: "skip_locked_delete",
  columns: `
    id bigint generated always as identity primary key,
    payload text not null,
    created_at timestamptz not null default now()`,
  consumer: (workload) => receivingBy(workload, { receive: { text: take, values: [workload.batch] }, isSteady: true }),
});

export const adapter: Adapter = {
  load: [skipLocked, skipLockedRows, skipLockedDelete],
  rates: [
    wokenWorkers({
      name: "skip-locked",
      summary:
        "skip-locked with a NOTIFY in every INSERT, and workers that are woken by it: claim up to 20 by UPDATE, DELETE them by their ids",
      settings: [
        ...settings,
        "the workers of a process share the connection that listens; each notification wakes one that sleeps",
        "a worker claims again after a full batch or a notification meanwhile, and otherwise sleeps; it polls every 5 s",
        tunedSetting,
        steadyPlansSetting,
      ],
      schema: `create schema skip_locked; ${tunedTable("skip_locked.job", table.columns)} ${table.more}`,
      table: "skip_locked.job",
      claim,
      finish,
    }),
  ],
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
