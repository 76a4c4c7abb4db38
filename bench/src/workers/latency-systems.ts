import { atMost } from "../scenario/target.ts";
import { ms } from "../report/format.ts";
import { bullmqWorker } from "./bullmq.ts";
import { controls } from "./controls.ts";
import { graphileWorker } from "./graphile-worker.ts";
import { pgqueWorker } from "./pgque.ts";
import type { WorkerSystem } from "./worker.ts";

/** Handlers at once, of every system. */
const concurrency = 10;

/** In the order of the tables. The first is what the others are compared with. */
export const latencySystems: WorkerSystem[] = [
  pgqueWorker(
    {
      name: "pgque",
      summary: "`send` of @pgque/client, and @pgque/worker with its defaults, woken by NOTIFY",
      settings: ["concurrency 10, its default; statements are prepared, as advised for direct connections"],
      target: atMost(1, ms),
    },
    { concurrency },
  ),
  graphileWorker(
    {
      name: "graphile-worker",
      summary: "`addJob` of graphile-worker 0.18, and its worker, woken by NOTIFY",
      settings: [
        "concurrentJobs 10; no local queue and no batches, which its documentation says make jobs start later",
        "jobs without a queue name and without a job key",
      ],
    },
    { concurrentJobs: concurrency },
  ),
  bullmqWorker(
    {
      name: "bullmq",
      summary: "`add` of BullMQ 6 on Redis with its built-in configuration, and its worker",
      settings: ["concurrency 10; nothing waits for a disk: a crash loses what came since the last snapshot"],
    },
    concurrency,
  ),
  ...controls,
];
