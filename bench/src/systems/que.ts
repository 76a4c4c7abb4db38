import { openQue, queSchema, queSettings } from "./que-jobs.ts";
import type { System } from "./system.ts";

/** The queue whose collapse under a long transaction made the subject known. */
export const que: System = {
  name: "que",
  summary:
    "one table; INSERT, a walk over the index in the order of work by a recursive CTE until pg_try_advisory_lock succeeds, a look " +
    "whether the job is still there, DELETE, unlock. The algorithm of Que 0.x (Chris Hanks), which brandur.org's " +
    '"Postgres Job Queues & Failure By MVCC" (2015) measures; our own wording',
  settings: [
    "one job at a time, whatever the run's batch size: Que 0.x locks no more; see lock-multiple",
    ...queSettings,
  ],
  schema: queSchema,
  segments: null,
  open: (workload) => openQue(workload, { jobs: 1, rememberSeconds: 0 }),
};
