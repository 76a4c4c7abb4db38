import { openQue, queSchema, queSettings } from "./que-jobs.ts";
import type { System } from "./system.ts";

/** Que that walks over its dead rows less often. */
export const lockMultiple: System = {
  name: "lock-multiple",
  summary:
    "que, whose walk goes on until as many jobs are locked as a batch has: dead rows are walked over once a batch. One of the " +
    'remedies that brandur.org\'s "Postgres Job Queues & Failure By MVCC" (2015) names; our own wording',
  settings: [
    "as many jobs as the run's batch size are locked, checked, deleted and unlocked by one statement each",
    ...queSettings,
  ],
  schema: queSchema,
  segments: null,
  open: (workload) => openQue(workload, { jobs: workload.batch, rememberSeconds: 0 }),
};
