import type { Adapter, Receive, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/payload.ts";
import { insertingBy, pulled } from "./support/pulled.ts";
import { steadyPlans } from "./support/steady-plans.ts";

const schema = `
  create schema queue_classic;
  create table queue_classic.job (
    id bigint generated always as identity primary key,
    q_name text not null default 'default',
    payload text not null,
    created_at timestamptz not null default now(),
    locked_at timestamptz,
    locked_by integer
  ) with (autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_cost_limit = 10000);
  create index job_unlocked on queue_classic.job (q_name, id) where locked_at is null;
  -- Statistics for the planner before the first row: otherwise the first plan is made for a table of unknown size.
  analyze queue_classic.job;

  -- Not the first job but one of the first so many: consumers would all wait for the same row. Of a short queue the first.
  create function queue_classic.lock_head(queue text, top_boundary integer)
  returns table (job_id bigint, job_payload text)
  language plpgsql
  as $$
  declare
    unlocked integer;
    skipped integer := 0;
    head bigint;
  begin
    select count(*) into unlocked
      from (select 1 from queue_classic.job where q_name = queue and locked_at is null limit top_boundary) as ahead;
    if unlocked >= top_boundary then
      skipped := trunc(random() * (top_boundary - 1));
    end if;
    loop
      begin
        select id into head
          from queue_classic.job
         where q_name = queue and locked_at is null
         order by id
        offset skipped
         limit 1
           for update nowait;
        exit;
      exception when lock_not_available then
        null; -- another has one of these rows: once more
      end;
    end loop;
    return query
      update queue_classic.job
         set locked_at = now(), locked_by = pg_backend_pid()
       where id = head and locked_at is null
      returning id, payload;
  end
  $$;`;

const insert = "insert into queue_classic.job (payload) select unnest($1::text[])";
const lockHead = "select job_id::text, job_payload from queue_classic.lock_head('default', 9)";
const remove = "delete from queue_classic.job where id = $1";

/** The queue that spread its consumers over the head of the table. */
export const queueClassic: System = {
  name: "queue-classic",
  summary:
    "one table; INSERT, a function lock_head that locks one of the first rows by FOR UPDATE NOWAIT at a random offset, trying again " +
    "for as long as another is ahead of it, and marks it by UPDATE; DELETE. The algorithm of queue_classic (Ryan Smith), our own wording",
  settings: [
    "top_boundary 9, its default: one of the first eight rows",
    "one job at a time, whatever the run's batch size: lock_head locks no more",
    "no trigger that sends NOTIFY: consumers poll, as the harness has the other tables do",
    "autovacuum_vacuum_scale_factor 0.005 and cost limit 10000 on the table, as for skip-locked",
    "locks with synchronous_commit off, on a connection of their own, as skip-locked claims",
    "enable_seqscan, enable_bitmapscan, enable_hashjoin, enable_mergejoin off for its consumers: always the plan a full table gets",
  ],
  schema: "queue_classic",
  segments: null,
  async open(workload) {
    await workload.admin.query(schema);
    return pulled(workload, insertingBy(insert), consumer);
  },
};

async function consumer(workload: Workload): Promise<Receive> {
  const { tally } = workload;
  const locking = await workload.connect("consumer lock", { synchronousCommit: "off" });
  const removing = await workload.connect("consumer remove");
  await Promise.all([locking, removing].map(steadyPlans));
  return async () => {
    const { rows } = await locking.query<[string, string]>({ name: "lock", text: lockHead, rowMode: "array" });
    const [job] = rows;
    if (job === undefined) return 0;
    tally.received(dueOf(job[1]));
    const removed = await removing.query({ name: "remove", text: remove, values: [job[0]] });
    tally.finished(removed.rowCount ?? 0);
    return 1;
  };
}

export const adapter: Adapter = { load: [queueClassic] };
