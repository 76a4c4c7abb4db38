import type { RunnerOptions } from "graphile-worker";
import { peer } from "../senders/peer.ts";
import { unheard } from "../failure.ts";
import { openPool, storeIn, warm } from "./pg-store.ts";
import type { Described, Handle, OpenWorker, Place, Store, WorkerSystem } from "./worker.ts";

const load = () => peer(["graphile-worker@0.18"], () => import("graphile-worker"));

type Settings = NonNullable<NonNullable<RunnerOptions["preset"]>["worker"]>;

export const graphileTask = "default";

export function graphileWorker(described: Described, settings: Settings): WorkerSystem {
  const connections = (settings.concurrentJobs ?? 1) + 1;
  return { ...described, makeStore, connect: (url, handle) => connectGraphile(url, handle, settings, connections) };
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
