import { processCpu } from "../measure/server-cpu.ts";
import { startRedis, type RedisServer } from "../senders/redis-server.ts";
import { onRedis, type BullBackend, type BullQueue } from "../workers/bullmq-backend.ts";
import { Failure } from "../failure.ts";
import { bullmqConsumers, bullmqSend, bullmqWorkerSettings } from "./bullmq-load.ts";
import { closing } from "../closing.ts";
import type { System } from "./system.ts";

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
