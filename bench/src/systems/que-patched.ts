import { openQue, queSchema, queSettings } from "./que-jobs.ts";
import type { System } from "./system.ts";

/** Que made tolerant of long transactions. */
export const quePatched: System = {
  name: "que-patched",
  summary:
    "que, whose consumers remember the last job they locked and walk on from there, so that they meet its dead row no more. The " +
    "patch of brandur.org's que-degradation-test (2015), in our own wording. A job that is committed after one behind it in the order of work waits until a consumer forgets",
  settings: [
    "a consumer forgets after 30 to 90 s, 60 s in the mean, and walks from the start once: jobs that were passed over are found then, and the consumers do not all walk at once",
    "one job at a time, whatever the run's batch size, as que",
    ...queSettings,
  ],
  schema: queSchema,
  segments: null,
  open: (workload) => openQue(workload, { jobs: 1, rememberSeconds: 60 }),
};
