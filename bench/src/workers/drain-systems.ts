import { atLeast } from "../scenario/target.ts";
import { ratio } from "../report/format.ts";
import { bullmqWorker } from "./bullmq.ts";
import { graphileWorker } from "./graphile-worker.ts";
import { pgBossWorker } from "./pg-boss.ts";
import { pgqueWorker } from "./pgque.ts";
import type { WorkerSystem } from "./worker.ts";

const target = atLeast(8, ratio);

/** In the order of the tables. The first is what the others are compared with. */
export const drainSystems: WorkerSystem[] = [
  pgqueWorker(
    {
      name: "pgque",
      summary: "@pgque/worker with the settings that its documentation gives for many short handlers",
      settings: [
        "concurrency 100, prefetch 4000, batchSize 2000: a batch is received while the one before it is handled, and settled in one call",
        "statements are prepared; heartbeats, leases and maintenance as in a service",
      ],
    },
    { concurrency: 100, prefetch: 4000, batchSize: 2000 },
  ),
  pgqueWorker(
    {
      name: "pgque-default",
      summary: "the same with the worker's defaults",
      settings: ["concurrency 10, so batches of 20; statements are prepared"],
    },
    {},
  ),
  graphileWorker(
    {
      name: "graphile-worker",
      summary:
        "graphile-worker 0.18 batched, as its documentation on performance has it and as its own benchmark is run",
      settings: [
        "concurrentJobs 24, localQueue.size 500: jobs are fetched 500 at a time",
        "completeJobBatchDelay and failJobBatchDelay 0: what is completed while a call is under way goes into the next",
      ],
      target,
    },
    { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  ),
  graphileWorker(
    {
      name: "graphile-worker-default",
      summary: "the same without batches: a call for each job to fetch it and one to complete it",
      settings: ["concurrentJobs 24, as above, on as many connections"],
    },
    { concurrentJobs: 24 },
  ),
  pgBossWorker(
    {
      name: "pg-boss",
      summary: "pg-boss 12 with `work` in batches, as its documentation has it for many short jobs",
      settings: [
        "batchSize 1000: jobs are fetched, handled and completed so many at a time",
        "burstWhenBatchFull: while batches come back full there is no wait between two fetches",
        "localConcurrency 2, so that one loop's handler and another's fetch are under way at the same time",
        "supervise on, its default; schedule off: nothing is scheduled",
      ],
      target,
    },
    { batchSize: 1000, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5, localConcurrency: 2 },
  ),
  bullmqWorker(
    {
      name: "bullmq",
      summary: "the Worker of BullMQ 6 on Redis with its built-in configuration",
      settings: [
        "concurrency 100, which its documentation advises to be high for handlers that do not use the CPU",
        "removeOnComplete with count 0, so that nothing is kept of what is done; the next job comes with the answer that completes one",
        "persistence as Redis has it by default: appendonly no, snapshots an hour, five minutes or a minute apart; a crash loses what came since",
      ],
      target,
    },
    100,
  ),
];
