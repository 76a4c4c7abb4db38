import type { BackendClasses, IQueueBackend, Job } from "bullmq";
import type { Adapter, Described, Handle, OpenWorker, Sender, Store, System, WorkerSystem } from "./adapter.ts";
import { peer, underLoad, type LibraryQueue, type LibraryWorker } from "./support/library.ts";
import { startRedis } from "./support/redis-server.ts";
import { tunedSetting, tuneAutovacuum } from "./support/table.ts";
import { closing, Failure, unheard } from "../runner/failure.ts";
import { processCpu } from "../measure/processes.ts";
import { ratio } from "../report/format.ts";
import { atLeast } from "../runner/target.ts";

const name = "bench";

/** What BullMQ stores in. `failed` is told what its listeners are told. */
interface Backend {
  queue(failed: (error: unknown) => void): Promise<LibraryQueue & Pick<Store, "unsettled">>;
  worker(handle: Handle, concurrency: number, failed: (error: unknown) => void): Promise<LibraryWorker>;
}

/** @throws NotRun when a package is not installed */
async function onRedis(connection: { host: string; port: number }): Promise<Backend> {
  await peer(["ioredis@5", "bullmq@6"], () => import("ioredis"));
  const { createRedisBackend, withBackend } = await peer(["bullmq@6", "ioredis@5"], () => import("bullmq"));
  return backend(withBackend(createRedisBackend), connection);
}

/**
 * In a database where BullMQ's schema is.
 *
 * @param max connections of each queue and each worker; one more of a worker listens
 */
function onPostgres(
  { createPostgresBackend, withBackend }: typeof import("bullmq"),
  url: string,
  max: number,
): Backend {
  const connection = new URL(url);
  // it adds to the `options` of a configuration, over which those of a URL would win
  const options = connection.searchParams.get("options") ?? "";
  connection.searchParams.delete("options");
  return backend(withBackend(createPostgresBackend), { connectionString: connection.href, options, max });
}

function backend<Stored extends IQueueBackend, Connection>(
  { Queue, Worker }: BackendClasses<Stored, Connection>,
  connection: Connection,
): Backend {
  return {
    async queue(failed) {
      const queue = new Queue(name, { connection });
      queue.on("error", failed);
      await queue.waitUntilReady();
      return {
        send: ([first, ...others]) =>
          others.length === 0
            ? queue.add("default", first)
            : queue.addBulk([first, ...others].map((data) => ({ name: "default", data }))),
        // failed ones are a failure of the run, not a result
        unsettled: () => queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized", "failed"),
        close: () => queue.close(),
      };
    },
    async worker(handle, concurrency, failed) {
      const options = { connection, autorun: false, concurrency, removeOnComplete: { count: 0 } };
      const worker = new Worker(name, async ({ data }: Job) => handle(data), options);
      worker.on("error", failed).on("failed", (_job, error) => failed(error));
      await worker.waitUntilReady();
      let running: Promise<void> | undefined;
      return {
        async start() {
          running = worker.run();
          running.catch(failed);
        },
        async stop() {
          await worker.close();
          await running;
        },
      };
    },
  };
}

/**
 * A queue on a Redis of its own.
 *
 * @throws NotRun when a package or redis-server is not installed
 */
export async function openOnRedis(configuration: Record<string, string>, failed: (error: unknown) => void = unheard) {
  const redis = await startRedis(configuration);
  try {
    const stored = await onRedis(redis);
    const queue = await stored.queue(failed);
    const url = `redis://${redis.host}:${redis.port}`;
    return { ...queue, ...stored, url, cpu: processCpu(redis.pid), close: closing(queue.close, () => redis.stop()) };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

export const bullmqWorkerSettings = [
  "a Worker for each consumer, concurrency the run's batch size: its documentation advises a high one for handlers that do not use the CPU",
  "removeOnComplete with count 0, so that nothing is kept of what is done; the next job comes with the answer that completes one",
];

/** A Redis that is made as durable as PostgreSQL. */
export const durableRedis = { appendonly: "yes", appendfsync: "always" };

export const redisSettings = [
  "one Redis for each trial, on loopback as PostgreSQL is; its CPU is counted into that of the server",
  "appendonly yes, appendfsync always: on the disk when a call returns, as a commit is; its documentation advises everysec, which may lose a second",
];

const bullmq: System = {
  name: "bullmq",
  summary:
    "BullMQ 6 on Redis: add or addBulk, and its Worker. It keeps nothing in PostgreSQL: no horizon concerns it, and no transaction of the application can hold a send",
  settings: [...redisSettings, ...bullmqWorkerSettings],
  schema: null,
  segments: null,
  async open(workload) {
    const failure = new Failure();
    const redis = await openOnRedis(durableRedis, failure.note);
    const open = (handle: Handle) => redis.worker(handle, workload.batch, failure.note);
    return { ...underLoad(workload, failure, redis, open), otherServer: redis.cpu };
  },
};

/** As many as a worker of Pgque is given. */
const connectionsPerWorker = 4;

const bullmqPostgres: System = {
  name: "bullmq-postgres",
  summary:
    "BullMQ 6 on its PostgreSQL backend: add or addBulk, and its Worker, which claims rows picked with FOR UPDATE SKIP LOCKED by UPDATE, a job at a time, and is woken by NOTIFY",
  settings: [
    "its schema by runMigrations; a Queue with a connection for every producer, four and one that listens for each Worker: what a worker of pgque-worker has",
    ...bullmqWorkerSettings,
    tunedSetting,
  ],
  schema: "bullmq",
  segments: null,
  async open(workload) {
    const { admin, url, producers, batch } = workload;
    const failure = new Failure();
    const bullmqPackage = await peer(["bullmq@6"], () => import("bullmq"));
    await bullmqPackage.runMigrations(admin);
    await tuneAutovacuum(admin, "bullmq");
    const queue = await onPostgres(bullmqPackage, url, producers).queue(failure.note);
    const workers = onPostgres(bullmqPackage, url, connectionsPerWorker);
    return underLoad(workload, failure, queue, (handle) => workers.worker(handle, batch, failure.note));
  },
};

const senderSettings = [
  "one Redis for each trial, on loopback as PostgreSQL is; maxmemory-policy noeviction, which BullMQ requires and Redis has by default",
  "default job options; addBulk is one pipeline of scripts, and not atomic: others see part of it",
];

function sender(described: Described, configuration: Record<string, string>): Sender {
  return {
    ...described,
    group: "many",
    target: atLeast(5, ratio),
    async open() {
      const { send, unsettled, cpu, close } = await openOnRedis(configuration);
      return { send, stored: unsettled, server: cpu, close };
    },
  };
}

function worker(described: Described, concurrency: number): WorkerSystem {
  return {
    ...described,
    makeStore: async () => ({ ...(await openOnRedis({})), admin: null }),
    connect: (url, handle) => connect(url, handle, concurrency),
  };
}

async function connect(url: string, handle: Handle, concurrency: number): Promise<OpenWorker> {
  const { hostname: host, port } = new URL(url);
  const redis = await onRedis({ host, port: Number(port) });
  const queue = await redis.queue(unheard);
  const { start, stop } = await redis.worker(handle, concurrency, unheard);
  return { start, send: (message) => queue.send([message]), stop: closing(stop, queue.close) };
}

export const adapter: Adapter = {
  load: [bullmq, bullmqPostgres],
  send: [
    sender(
      {
        name: "bullmq",
        summary: "`addBulk` of BullMQ 6 on Redis with its built-in configuration",
        settings: [
          "persistence as Redis has it by default: appendonly no, snapshots an hour, five minutes or a minute apart; a crash loses what came since. No snapshot falls into a trial",
          ...senderSettings,
        ],
      },
      {},
    ),
    sender(
      {
        name: "bullmq-aof",
        summary: "the same with the append-only file that BullMQ's documentation advises for production",
        settings: [
          "appendonly yes, appendfsync everysec: a crash loses a second; a commit of PostgreSQL is on the disk",
          ...senderSettings,
        ],
      },
      { appendonly: "yes", appendfsync: "everysec" },
    ),
  ],
  drain: [
    worker(
      {
        name: "bullmq",
        summary: "the Worker of BullMQ 6 on Redis with its built-in configuration",
        settings: [
          "concurrency 100, which its documentation advises to be high for handlers that do not use the CPU",
          "removeOnComplete with count 0, so that nothing is kept of what is done; the next job comes with the answer that completes one",
          "persistence as Redis has it by default: appendonly no, snapshots an hour, five minutes or a minute apart; a crash loses what came since",
        ],
        target: atLeast(8, ratio),
      },
      100,
    ),
  ],
  latency: [
    worker(
      {
        name: "bullmq",
        summary: "`add` of BullMQ 6 on Redis with its built-in configuration, and its worker",
        settings: ["concurrency 10; nothing waits for a disk: a crash loses what came since the last snapshot"],
      },
      10,
    ),
  ],
};
