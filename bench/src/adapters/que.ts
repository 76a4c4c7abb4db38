import type { Adapter, Described, Receive, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/messages.ts";
import { steadyPlans, tableQueue } from "./support/table.ts";

const columns = `
    queue text not null default '',
    priority smallint not null default 100,
    run_at timestamptz not null default now(),
    job_id bigint generated always as identity,
    payload text not null,
    error_count integer not null default 0,
    last_error text,
    primary key (queue, priority, run_at, job_id)`;

/** The first job behind a place in the order of work. */
const jobBehind = (place: string): string => `
  select job.priority, job.run_at, job.job_id
    from que.job
   where job.queue = ''
     and job.run_at <= now()
     and (job.priority, job.run_at, job.job_id) > (${place})
     and job.job_id > $1
   order by job.priority, job.run_at, job.job_id
   limit 1`;

// One step of the recursion is one look into the index and one try. The limit outside ends it as soon as enough are locked, so
// that no job is locked that is not returned. The least job_id is a filter and no place to begin at: the index does not begin with it.
export const lock = `
  with recursive walk as (
    select first.*, pg_try_advisory_lock(first.job_id) as locked
      from (${jobBehind("'-32768'::smallint, '-infinity'::timestamptz, 0")}) as first
    union all
    select next.*, pg_try_advisory_lock(next.job_id)
      from walk
     cross join lateral (${jobBehind("walk.priority, walk.run_at, walk.job_id")}) as next
  )
  select priority, run_at::text, job_id::text
    from walk
   where locked
   limit $2`;

const places = "unnest($1::smallint[], $2::timestamptz[], $3::bigint[]) as place(priority, run_at, job_id)";
const atPlace = `
   where job.queue = ''
     and job.priority = place.priority
     and job.run_at = place.run_at
     and job.job_id = place.job_id`;

// Who had the lock before may have deleted the job after the walk's snapshot was taken.
const check = `select job.payload from ${places}, que.job ${atPlace}`;
const remove = `delete from que.job using ${places} ${atPlace}`;
const unlock = "select pg_advisory_unlock(job_id) from unnest($1::bigint[]) as job_id";

/** Priority, run_at and job_id. */
type Place = [number, string, string];

interface Variant extends Described {
  /** How many jobs are locked by one walk. */
  jobs: (batch: number) => number;
  /** How long a walk passes over jobs up to the last job_id that was locked, give or take half of it. Default: it passes over none. */
  rememberSeconds?: number;
}

function variant({ jobs, rememberSeconds = 0, settings, ...described }: Variant): System {
  return tableQueue({
    ...described,
    settings: [
      ...settings,
      "the primary key is the order of work, (queue, priority, run_at, job_id), as in Que: its one index serves the walk, the check and the DELETE",
    ],
    schema: "que",
    columns,
    consumer: (workload) => consumer(workload, jobs(workload.batch), rememberSeconds),
  });
}

async function consumer({ tally, connect }: Workload, jobs: number, rememberSeconds: number): Promise<Receive> {
  const client = await connect("consumer");
  await steadyPlans(client);
  let lastJobId = "0";
  let forgetAtMs = 0;
  return async () => {
    for (;;) {
      if (performance.now() >= forgetAtMs) {
        lastJobId = "0";
        // consumers that started together do not all try the locks of dead rows together
        forgetAtMs = performance.now() + rememberSeconds * 1000 * (0.5 + Math.random());
      }
      const values = [lastJobId, jobs];
      const locked = await tally.pick(() =>
        client.query<Place>({ name: "lock", text: lock, values, rowMode: "array" }),
      );
      const found = locked.rows;
      const last = found.at(-1);
      if (last === undefined) return 0;
      if (rememberSeconds > 0) lastJobId = last[2];
      const places = [found.map(([priority]) => priority), found.map(([, at]) => at), found.map(([, , id]) => id)];
      const { rows } = await client.query<[string]>({ name: "check", text: check, values: places, rowMode: "array" });
      for (const [payload] of rows) tally.received(dueOf(payload));
      const removed = rows.length === 0 ? 0 : await client.query({ name: "remove", text: remove, values: places });
      if (removed !== 0) tally.finished(removed.rowCount ?? 0);
      await client.query({ name: "unlock", text: unlock, values: [places[2]] });
      // when all were somebody else's, it tries again at once, as Que does
      if (rows.length > 0) return rows.length;
    }
  };
}

/** The queue whose collapse under a long transaction made the subject known. */
export const que: System = variant({
  name: "que",
  summary:
    "one table; INSERT, a walk over the index in the order of work by a recursive CTE until pg_try_advisory_lock succeeds, a look " +
    "whether the job is still there, DELETE, unlock. The algorithm of Que 0.x (Chris Hanks), which brandur.org's " +
    '"Postgres Job Queues & Failure By MVCC" (2015) measures; our own wording',
  settings: ["one job at a time, whatever the run's batch size: Que 0.x locks no more; see lock-multiple"],
  jobs: () => 1,
});

/** Que made tolerant of long transactions. */
export const quePatched: System = variant({
  name: "que-patched",
  summary:
    "que with `AND job_id > last_job_id` in its walk, where last_job_id is the last job that this consumer has locked: it tries no lock of a dead job. The " +
    "walk begins at the front of the index all the same, and reads the index entry of every dead row. The patch of brandur.org's que-degradation-test (2015), in our own wording",
  settings: [
    "a consumer forgets after 30 to 90 s, 60 s in the mean: jobs with a lower job_id that were committed later are found then",
    "one job at a time, whatever the run's batch size, as que",
  ],
  jobs: () => 1,
  rememberSeconds: 60,
});

/** Que that walks over its dead rows less often. */
export const lockMultiple: System = variant({
  name: "lock-multiple",
  summary:
    "que, whose walk goes on until as many jobs are locked as a batch has: dead rows are walked over once a batch. One of the " +
    'remedies that brandur.org\'s "Postgres Job Queues & Failure By MVCC" (2015) names; our own wording',
  settings: ["as many jobs as the run's batch size are locked, checked, deleted and unlocked by one statement each"],
  jobs: (batch) => batch,
});

export const adapter: Adapter = {
  load: [que, quePatched, lockMultiple],
  degradation: [
    {
      name: "que",
      system: que,
      batch: 1,
      published: { backlogEnd: 60_000, ranAwaySeconds: 15 * 60, deadTuples: 100_000, lockRatio: 15 },
    },
    { name: "que-patched", system: quePatched, batch: 1, published: { backlogEnd: 30_000 } },
  ],
};
