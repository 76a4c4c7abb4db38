import type { RunnerOptions } from "graphile-worker";
import type {
  Adapter,
  Described,
  Handle,
  OpenWorker,
  Place,
  Send,
  Sender,
  Store,
  System,
  WorkerSystem,
} from "./adapter.ts";
import { peer } from "./support/peer.ts";
import { connectionsOf, openPool, rowsIn, storeIn, warm } from "./support/pg-store.ts";
import { pushed } from "./support/pushed.ts";
import { tunedSetting, tuneAutovacuum } from "./support/table.ts";
import { closing } from "../closing.ts";
import { Failure, unheard } from "../failure.ts";
import { ratio } from "../report/format.ts";
import { atLeast } from "../scenario/target.ts";

const load = () => peer(["graphile-worker@0.18"], () => import("graphile-worker"));

type Settings = NonNullable<NonNullable<RunnerOptions["preset"]>["worker"]>;

export const graphileTask = "default";

export function graphileWorker(described: Described, settings: Settings): WorkerSystem {
  return {
    ...described,
    makeStore,
    connect(url, handle, workers = settings.concurrentJobs ?? 1) {
      const connections = Math.min(workers + 1, connectionsOf(workers));
      return connectGraphile(url, handle, { ...settings, concurrentJobs: workers }, connections);
    },
  };
}

/** Its schema in a database, and what sends to it. Of everything that it logs `failed` is told the errors. */
export async function graphileUtils(pgPool: ReturnType<typeof openPool>, failed: (error: unknown) => void = unheard) {
  const { makeWorkerUtils } = await load();
  const utils = await makeWorkerUtils({ pgPool, logger: await errorsTo(failed) });
  await utils.migrate();
  return utils;
}

async function makeStore(place: Place): Promise<Store> {
  await load();
  return storeIn(place, async ({ store, pool }) => {
    const utils = await graphileUtils(pool);
    return {
      ...store,
      send: (messages) => utils.addJobs(messages.map((payload) => ({ identifier: graphileTask, payload }))),
      async unsettled() {
        const { rows } = await store.admin.query<{ jobs: string }>(
          "select count(*) as jobs from graphile_worker._private_jobs",
        );
        return Number(rows[0]?.jobs);
      },
      async close() {
        await utils.release();
        await store.close();
      },
    };
  });
}

/** One runner on so many connections; one more listens, and those that send have a pool of their own. */
export async function connectGraphile(
  url: string,
  handle: Handle,
  settings: Settings,
  connections: number,
  failed: (error: unknown) => void = unheard,
): Promise<OpenWorker> {
  const { makeWorkerUtils, run } = await load();
  const logger = await errorsTo(failed);
  const [pool, sending] = [openPool(url, connections + 1), openPool(url, 10)];
  await warm(pool, connections);
  const utils = await makeWorkerUtils({ pgPool: sending, logger });
  let runner: Awaited<ReturnType<typeof run>> | undefined;
  return {
    async start() {
      runner = await run({
        preset: { worker: settings },
        pgPool: pool,
        logger,
        noHandleSignals: true,
        taskList: { [graphileTask]: (payload) => handle(payload as Parameters<Handle>[0]) as undefined },
      });
      // what ends it before it is stopped ends its promise
      runner.promise.catch(failed);
    },
    send: (message) => utils.addJob(graphileTask, message),
    async stop() {
      await runner?.stop();
      await utils.release();
      await Promise.all([pool.end(), sending.end()]);
    },
  };
}

/** Whatever goes wrong in it is logged as an error, and told in no other way that has all of it. */
async function errorsTo(failed: (error: unknown) => void) {
  const { Logger } = await load();
  return new Logger(() => (level, message) => {
    if (level === "error") failed(new Error(`graphile-worker: ${message}`));
  });
}

/** What its own benchmark is run with. */
const concurrentJobs = 24;

/** As many as a worker of Pgque is given. */
const connectionsPerWorker = 4;

export const underLoad: System = {
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

export const sendMany: Sender = {
  name: "graphile-worker",
  group: "many",
  summary: "`addJobs` of graphile-worker 0.18, which its documentation advises for many jobs",
  settings: [
    "makeWorkerUtils once, on a pool that stays open: its documentation warns of the pool that quickAddJob opens for each call",
    "jobs without a queue name and without a job key: neither is needed here, and add_jobs does more for each job that has one",
  ],
  target: atLeast(5, ratio),
  async open({ admin, pool }) {
    const { Logger, makeWorkerUtils } = await peer(["graphile-worker@0.18"], () => import("graphile-worker"));
    const utils = await makeWorkerUtils({ pgPool: pool, logger: new Logger(() => () => undefined) });
    await utils.migrate();
    return {
      send: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: "default", payload }))),
      stored: () => rowsIn(admin, "graphile_worker._private_jobs"),
      close: async () => utils.release(),
    };
  },
};

const target = atLeast(8, ratio);

const batchesOf = (size: number): Settings => ({
  concurrentJobs,
  localQueue: { size },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
});

export const adapter: Adapter = {
  load: [underLoad],
  send: [sendMany],
  drain: [
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
      batchesOf(500),
    ),
    graphileWorker(
      {
        name: "graphile-worker-2000",
        summary: "the same with the batches of pgque",
        settings: ["localQueue.size 2000: jobs are fetched 2000 at a time, as pgque receives; the rest is as above"],
        target,
      },
      batchesOf(2000),
    ),
    graphileWorker(
      {
        name: "graphile-worker-default",
        summary: "the same without batches: a call for each job to fetch it and one to complete it",
        settings: ["concurrentJobs 24, as above, on as many connections"],
      },
      { concurrentJobs: 24 },
    ),
  ],
  latency: [
    graphileWorker(
      {
        name: "graphile-worker",
        summary: "`addJob` of graphile-worker 0.18, and its worker, woken by NOTIFY",
        settings: [
          "concurrentJobs 10; no local queue and no batches, which its documentation says make jobs start later",
          "jobs without a queue name and without a job key",
        ],
      },
      { concurrentJobs: 10 },
    ),
  ],
  rates: [
    graphileWorker(
      {
        name: "graphile-worker",
        summary: "`addJob` of graphile-worker 0.18, and its worker, woken by NOTIFY",
        settings: ["one runner; as many workers are its concurrentJobs; no local queue and no batches, its defaults"],
      },
      {},
    ),
  ],
};
