import type { Adapter, System } from "./adapter.ts";
import { finishingBy, receivingBy, tableQueue } from "./support/table.ts";

const more = `
  create index job_unlocked on queue_classic.job (q_name, id) where locked_at is null;
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

const lockHead = "select job_id::text, job_payload from queue_classic.lock_head('default', 9)";
const remove = "delete from queue_classic.job where id = any($1::bigint[])";

/** The queue that spread its consumers over the head of the table. */
export const queueClassic: System = tableQueue({
  name: "queue-classic",
  summary:
    "one table; INSERT, a function lock_head that locks one of the first rows by FOR UPDATE NOWAIT at a random offset, trying again " +
    "for as long as another is ahead of it, and marks it by UPDATE; DELETE. The algorithm of queue_classic (Ryan Smith), our own wording",
  settings: [
    "top_boundary 9, its default: one of the first eight rows",
    "one job at a time, whatever the run's batch size: lock_head locks no more",
    "no trigger that sends NOTIFY: consumers poll, as the harness has the other tables do",
    "locks with synchronous_commit off, on a connection of their own, as skip-locked claims",
  ],
  schema: "queue_classic",
  columns: `
    id bigint generated always as identity primary key,
    q_name text not null default 'default',
    payload text not null,
    created_at timestamptz not null default now(),
    locked_at timestamptz,
    locked_by integer`,
  more,
  consumer: (workload) =>
    receivingBy(workload, { receive: { text: lockHead }, finish: finishingBy(remove), isSteady: true }),
});

export const adapter: Adapter = { load: [queueClassic] };
