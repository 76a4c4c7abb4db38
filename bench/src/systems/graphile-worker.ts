import { Failure } from "../failure.ts";
import { connectGraphile, graphileTask, graphileUtils } from "../workers/graphile-worker.ts";
import { openPool } from "../workers/pg-store.ts";
import { closing } from "../closing.ts";
import { pushed } from "./pushed.ts";
import type { Send, System } from "./system.ts";
import { tunedSetting, tuneAutovacuum } from "./tuned.ts";

/** What its own benchmark is run with. */
const concurrentJobs = 24;

/** As many as a worker of Pgque is given. */
const connectionsPerWorker = 4;

export const graphileWorker: System = {
  name: "graphile-worker",
  summary:
    "graphile-worker 0.18: addJob or addJobs, and its worker, which fetches by UPDATE of rows picked with FOR UPDATE SKIP LOCKED and completes by DELETE",
  settings: [
    "a runner for each consumer, on four connections and one that listens: what a worker of pgque-worker has",
    "concurrentJobs 24, localQueue.size the run's batch size but at least 24: jobs are fetched so many at a time, as its documentation on performance has it",
    "localQueue.refetchDelay as long as the harness's consumers wait after an empty receive: without it each runner asks again at each NOTIFY, for what another has already fetched",
    "completeJobBatchDelay and failJobBatchDelay 0: what is completed while a call is under way goes into the next, as in its own benchmark",
    "jobs without a queue name and without a job key: neither is needed here, and both cost it more",
    "woken by NOTIFY; pollInterval 2000, its default",
    tunedSetting,
  ],
  schema: "graphile_worker",
  segments: null,
  async open(workload) {
    const { url, admin, producers, batch, idlePollMs } = workload;
    const failure = new Failure();
    const pool = openPool(url, producers);
    const utils = await graphileUtils(pool, failure.note).catch(async (error) => {
      await pool.end();
      throw error;
    });
    await tuneAutovacuum(admin, "graphile_worker");
    const send: Send = async (payloads) => {
      const specs = payloads.map((payload) => ({ identifier: graphileTask, payload: JSON.parse(payload) }));
      const [only] = specs;
      if (only !== undefined && specs.length === 1) await utils.addJob(graphileTask, only.payload);
      else await utils.addJobs(specs);
    };
    const settings = {
      concurrentJobs,
      localQueue: { size: Math.max(batch, concurrentJobs), refetchDelay: { durationMs: idlePollMs } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    };
    const consumers = pushed(workload, failure, (handle) =>
      connectGraphile(url, handle, settings, connectionsPerWorker, failure.note),
    );
    return {
      send: Array.from({ length: producers }, () => send),
      consumers,
      maintain: failure.check,
      close: closing(
        () => consumers.stop(),
        async () => utils.release(),
        () => pool.end(),
      ),
    };
  },
};
