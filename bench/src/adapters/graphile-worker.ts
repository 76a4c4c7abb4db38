import type { RunnerOptions } from "graphile-worker";
import type { Pool } from "pg";
import type { Adapter, Described, Handle, OpenWorker, Place, Sender, Store, System, WorkerSystem } from "./adapter.ts";
import { peer, underLoad, type LibraryQueue } from "./support/library.ts";
import { connectionsOf, openPool, rowsIn, storeIn, warm } from "./support/pg-store.ts";
import { tunedSetting, tuneAutovacuum } from "./support/table.ts";
import { closing, Failure, unheard } from "../runner/failure.ts";
import { ratio } from "../report/format.ts";
import { atLeast } from "../runner/target.ts";

const load = () => peer(["graphile-worker@0.18"], () => import("graphile-worker"));

type Settings = NonNullable<NonNullable<RunnerOptions["preset"]>["worker"]>;

const identifier = "default";
const jobs = "graphile_worker._private_jobs";

/** Its schema in a database, and what sends to it. Of everything that it logs `failed` is told the errors. */
async function openQueue(pgPool: Pool, failed: (error: unknown) => void = unheard): Promise<LibraryQueue> {
  const { makeWorkerUtils } = await load();
  const utils = await makeWorkerUtils({ pgPool, logger: await errorsTo(failed) });
  await utils.migrate();
  return {
    send: ([first, ...others]) =>
      others.length === 0
        ? utils.addJob(identifier, first)
        : utils.addJobs([first, ...others].map((payload) => ({ identifier, payload }))),
    close: async () => utils.release(),
  };
}

async function makeStore(place: Place): Promise<Store> {
  await load();
  return storeIn(place, async ({ store, pool }) => {
    const { send, close } = await openQueue(pool);
    return { ...store, send, unsettled: () => rowsIn(store.admin, jobs), close: closing(close, store.close) };
  });
}

/** One runner on so many connections; one more listens, and those that send have a pool of their own. */
async function connect(
  url: string,
  handle: Handle,
  settings: Settings,
  connections: number,
  failed: (error: unknown) => void = unheard,
): Promise<OpenWorker> {
  const { run } = await load();
  const logger = await errorsTo(failed);
  const [pool, sending] = [openPool(url, connections + 1), openPool(url, 10)];
  await warm(pool, connections);
  const { send, close } = await openQueue(sending, failed);
  let runner: Awaited<ReturnType<typeof run>> | undefined;
  return {
    async start() {
      runner = await run({
        preset: { worker: settings },
        pgPool: pool,
        logger,
        noHandleSignals: true,
        taskList: { [identifier]: (payload) => handle(payload as Parameters<Handle>[0]) as undefined },
      });
      // what ends it before it is stopped ends its promise
      runner.promise.catch(failed);
    },
    send: (message) => send([message]),
    async stop() {
      await runner?.stop();
      await close();
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

function worker(described: Described, settings: Settings): WorkerSystem {
  return {
    ...described,
    makeStore,
    connect(url, handle, workers = settings.concurrentJobs ?? 1) {
      const connections = Math.min(workers + 1, connectionsOf(workers));
      return connect(url, handle, { ...settings, concurrentJobs: workers }, connections);
    },
  };
}

/** What its own benchmark is run with. */
const concurrentJobs = 24;

const batchesOf = (size: number): Settings => ({
  concurrentJobs,
  localQueue: { size },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
});

/** As many as a worker of Pgque is given. */
const connectionsPerWorker = 4;

const withRunners: System = {
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
    const { send, close } = await openQueue(pool, failure.note).catch(async (error) => {
      await pool.end();
      throw error;
    });
    await tuneAutovacuum(admin, "graphile_worker");
    const size = Math.max(batch, concurrentJobs);
    const settings = { ...batchesOf(size), localQueue: { size, refetchDelay: { durationMs: idlePollMs } } };
    return underLoad(workload, failure, { send, close: closing(close, () => pool.end()) }, (handle) =>
      connect(url, handle, settings, connectionsPerWorker, failure.note),
    );
  },
};

const sendMany: Sender = {
  name: "graphile-worker",
  group: "many",
  summary: "`addJobs` of graphile-worker 0.18, which its documentation advises for many jobs",
  settings: [
    "makeWorkerUtils once, on a pool that stays open: its documentation warns of the pool that quickAddJob opens for each call",
    "jobs without a queue name and without a job key: neither is needed here, and add_jobs does more for each job that has one",
  ],
  target: atLeast(5, ratio),
  open: async ({ admin, pool }) => ({ ...(await openQueue(pool)), stored: () => rowsIn(admin, jobs) }),
};

const target = atLeast(8, ratio);

export const adapter: Adapter = {
  load: [withRunners],
  send: [sendMany],
  drain: [
    worker(
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
    worker(
      {
        name: "graphile-worker-2000",
        summary: "the same with the batches of pgque",
        settings: ["localQueue.size 2000: jobs are fetched 2000 at a time, as pgque receives; the rest is as above"],
        target,
      },
      batchesOf(2000),
    ),
    worker(
      {
        name: "graphile-worker-default",
        summary: "the same without batches: a call for each job to fetch it and one to complete it",
        settings: ["concurrentJobs 24, as above, on as many connections"],
      },
      { concurrentJobs: 24 },
    ),
  ],
  latency: [
    worker(
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
    worker(
      {
        name: "graphile-worker",
        summary: "`addJob` of graphile-worker 0.18, and its worker, woken by NOTIFY",
        settings: ["one runner; as many workers are its concurrentJobs; no local queue and no batches, its defaults"],
      },
      {},
    ),
  ],
};
