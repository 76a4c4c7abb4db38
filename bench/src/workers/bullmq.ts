import { processCpu } from "../measure/server-cpu.ts";
import { startRedis, type RedisServer } from "../senders/redis-server.ts";
import { onRedis, type BullQueue } from "./bullmq-backend.ts";
import { unheard } from "../failure.ts";
import type { Described, Handle, OpenWorker, Store, WorkerSystem } from "./worker.ts";

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
