import type {
  Adapter,
  Consumers,
  Described,
  Handle,
  OpenWorker,
  Send,
  Sender,
  Store,
  System,
  WorkerSystem,
  Workload,
} from "./adapter.ts";
import { bullmqPackage, onPostgres, onRedis, type BullBackend, type BullQueue } from "./support/bullmq-backend.ts";
import { peer } from "./support/peer.ts";
import { pushed } from "./support/pushed.ts";
import { startRedis, type RedisServer } from "./support/redis-server.ts";
import { tunedSetting, tuneAutovacuum } from "./support/table.ts";
import { closing } from "../closing.ts";
import { Failure, unheard } from "../failure.ts";
import { processCpu } from "../measure/server-cpu.ts";
import { ratio } from "../report/format.ts";
import { atLeast } from "../scenario/target.ts";

export function bullmqWorker(described: Described, concurrency: number): WorkerSystem {
  return { ...described, makeStore, connect: (url, handle) => connect(url, handle, concurrency) };
}

async function makeStore(): Promise<Store> {
  const redis = await startRedis({});
  const queue = await openQueue(redis);
  return {
    url: `redis://${redis.host}:${redis.port}`,
    send: (messages) => queue.addBulk(messages.map((data) => ({ name: "default", data }))),
    // failed ones are a failure of the run, not a result
    unsettled: () => queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized", "failed"),
    cpu: processCpu(redis.pid),
    admin: null,
    async close() {
      await queue.close();
      await redis.stop();
    },
  };
}

async function openQueue(redis: RedisServer): Promise<BullQueue> {
  try {
    const backend = await onRedis(redis);
    return await backend.queue(unheard);
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

async function connect(url: string, handle: Handle, concurrency: number): Promise<OpenWorker> {
  const { hostname: host, port } = new URL(url);
  const backend = await onRedis({ host, port: Number(port) });
  const queue = await backend.queue(unheard);
  const worker = await backend.worker(handle, concurrency, unheard);
  let running: Promise<void> | undefined;
  return {
    async start() {
      running = worker.run();
    },
    send: (message) => queue.add("default", message),
    async stop() {
      await worker.close();
      await running;
      await queue.close();
    },
  };
}

/** Producers of one process share a Queue and its connections, as BullMQ's documentation has it. */
export function bullmqSend(queue: BullQueue): Send {
  return async (payloads) => {
    const jobs = payloads.map((payload) => ({ name: "default", data: JSON.parse(payload) as unknown }));
    const [only] = jobs;
    if (only !== undefined && jobs.length === 1) await queue.add(only.name, only.data);
    else await queue.addBulk(jobs);
  };
}

/** A Worker for each consumer. */
export function bullmqConsumers(
  workload: Workload,
  backend: BullBackend,
  failure: Failure,
): Consumers & { kind: "pushed" } {
  return pushed(workload, failure, async (handle) => {
    const worker = await backend.worker(handle, workload.batch, failure.note);
    let running: Promise<void> | undefined;
    return {
      async start() {
        running = worker.run();
        running.catch(failure.note);
      },
      async stop() {
        await worker.close();
        await running;
      },
    };
  });
}

export const bullmqWorkerSettings = [
  "a Worker for each consumer, concurrency the run's batch size: its documentation advises a high one for handlers that do not use the CPU",
  "removeOnComplete with count 0, so that nothing is kept of what is done; the next job comes with the answer that completes one",
];

/** BullMQ on a Redis of its own. */
export interface BullmqOnRedis {
  backend: BullBackend;
  queue: BullQueue;
  redis: RedisServer;
  close: () => Promise<void>;
}

/** How a Redis is made to be as durable as PostgreSQL. */
export const redisSettings = [
  "one Redis for each cell, on loopback as PostgreSQL is; its CPU is counted into that of the server",
  "appendonly yes, appendfsync always: on the disk when a call returns, as a commit is; its documentation advises everysec, which may lose a second",
];

/** @throws NotRun when a package or redis-server is not installed */
export async function openBullmqOnRedis(failure: Failure): Promise<BullmqOnRedis> {
  const redis = await startRedis({ appendonly: "yes", appendfsync: "always" });
  try {
    const backend = await onRedis(redis);
    const queue = await backend.queue(failure.note);
    return {
      backend,
      queue,
      redis,
      async close() {
        await queue.close();
        await redis.stop();
      },
    };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

export const bullmq: System = {
  name: "bullmq",
  summary:
    "BullMQ 6 on Redis: add or addBulk, and its Worker. It keeps nothing in PostgreSQL: no horizon concerns it, and no transaction of the application can hold a send",
  settings: [...redisSettings, ...bullmqWorkerSettings],
  schema: null,
  segments: null,
  async open(workload) {
    const failure = new Failure();
    const { backend, queue, redis, close } = await openBullmqOnRedis(failure);
    const send = bullmqSend(queue);
    const consumers = bullmqConsumers(workload, backend, failure);
    return {
      send: Array.from({ length: workload.producers }, () => send),
      consumers,
      maintain: failure.check,
      otherServer: processCpu(redis.pid),
      close: closing(() => consumers.stop(), close),
    };
  },
};

/** As many as a worker of Pgque is given. */
const connectionsPerWorker = 4;

export const bullmqPostgres: System = {
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
    const { admin, url, producers } = workload;
    const failure = new Failure();
    const { runMigrations } = await bullmqPackage();
    await runMigrations(admin);
    await tuneAutovacuum(admin, "bullmq");
    const queue = await (await onPostgres(url, producers)).queue(failure.note);
    const send = bullmqSend(queue);
    const consumers = bullmqConsumers(workload, await onPostgres(url, connectionsPerWorker), failure);
    return {
      send: Array.from({ length: producers }, () => send),
      consumers,
      maintain: failure.check,
      close: closing(
        () => consumers.stop(),
        () => queue.close(),
      ),
    };
  },
};

const packages = ["bullmq@6", "ioredis@5"];

const senderSettings = [
  "one Redis for each cell, on loopback as PostgreSQL is; maxmemory-policy noeviction, which BullMQ requires and Redis has by default",
  "default job options; addBulk is one pipeline of scripts, and not atomic: others see part of it",
];

export const sendMany: Sender = sender("bullmq", "`addBulk` of BullMQ 6 on Redis with its built-in configuration", {}, [
  "persistence as Redis has it by default: appendonly no, snapshots an hour, five minutes or a minute apart; a crash loses what came since. No snapshot falls into a cell",
  ...senderSettings,
]);

export const sendManyAof: Sender = sender(
  "bullmq-aof",
  "the same with the append-only file that BullMQ's documentation advises for production",
  { appendonly: "yes", appendfsync: "everysec" },
  [
    "appendonly yes, appendfsync everysec: a crash loses a second; a commit of PostgreSQL is on the disk",
    ...senderSettings,
  ],
);

function sender(name: string, summary: string, configuration: Record<string, string>, settings: string[]): Sender {
  return {
    name,
    group: "many",
    summary,
    settings,
    target: atLeast(5, ratio),
    async open() {
      const { Queue } = await peer(packages, () => import("bullmq"));
      await peer(packages, () => import("ioredis"));
      const redis = await startRedis(configuration);
      const queue = new Queue("bench", { connection: { host: redis.host, port: redis.port } });
      // a connection that breaks makes the next call fail; without a listener it would end the process here
      queue.on("error", () => undefined);
      await queue.waitUntilReady();
      return {
        send: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "default", data }))),
        stored: () => queue.count(),
        server: processCpu(redis.pid),
        async close() {
          await queue.close();
          await redis.stop();
        },
      };
    },
  };
}

export const adapter: Adapter = {
  load: [bullmq, bullmqPostgres],
  send: [sendMany, sendManyAof],
  drain: [
    bullmqWorker(
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
    bullmqWorker(
      {
        name: "bullmq",
        summary: "`add` of BullMQ 6 on Redis with its built-in configuration, and its worker",
        settings: ["concurrency 10; nothing waits for a disk: a crash loses what came since the last snapshot"],
      },
      10,
    ),
  ],
};
