import type { Job } from "bullmq";
import type { Handle } from "../adapter.ts";
import { peer } from "./peer.ts";

const name = "bench";

/** The parts of a Queue of BullMQ that are used here, whatever it is stored in. */
export interface BullQueue {
  add(jobName: string, data: unknown): Promise<unknown>;
  addBulk(jobs: { name: string; data: unknown }[]): Promise<unknown>;
  getJobCountByTypes(...types: ("waiting" | "active" | "delayed" | "prioritized" | "failed")[]): Promise<number>;
  close(): Promise<void>;
}

/** A Worker of BullMQ; it has handled nothing until `run` is called, which ends with `close`. */
export interface BullWorker {
  run(): Promise<void>;
  close(): Promise<void>;
}

/** What BullMQ stores in. `failed` is told what its listeners are told. */
export interface BullBackend {
  queue(failed: (error: unknown) => void): Promise<BullQueue>;
  worker(handle: Handle, concurrency: number, failed: (error: unknown) => void): Promise<BullWorker>;
}

const options = (concurrency: number) => ({ autorun: false, concurrency, removeOnComplete: { count: 0 } });

/** @throws NotRun when a package is not installed */
export async function onRedis({ host, port }: { host: string; port: number }): Promise<BullBackend> {
  const packages = ["bullmq@6", "ioredis@5"];
  await peer(packages, () => import("ioredis"));
  const { Queue, Worker } = await peer(packages, () => import("bullmq"));
  const connection = { host, port };
  return {
    async queue(failed) {
      const queue = new Queue(name, { connection });
      queue.on("error", failed);
      await queue.waitUntilReady();
      return queue;
    },
    async worker(handle, concurrency, failed) {
      const worker = new Worker(name, async ({ data }: Job) => handle(data), { connection, ...options(concurrency) });
      worker.on("error", failed).on("failed", (_job, error) => failed(error));
      await worker.waitUntilReady();
      return worker;
    },
  };
}

/**
 * In a database where BullMQ's schema is.
 *
 * @param connections of each queue and each worker; one more of a worker listens
 * @throws NotRun when the package is not installed
 */
export async function onPostgres(url: string, connections: number): Promise<BullBackend> {
  const { createPostgresBackend, Queue, Worker } = await bullmqPackage();
  const connection = { ...connectionOptions(url), max: connections };
  return {
    async queue(failed) {
      const queue = new Queue(name, { connection }, createPostgresBackend);
      queue.on("error", failed);
      await queue.waitUntilReady();
      return queue;
    },
    async worker(handle, concurrency, failed) {
      const worker = new Worker(
        name,
        async ({ data }: Job) => handle(data),
        { connection, ...options(concurrency) },
        createPostgresBackend,
      );
      worker.on("error", failed).on("failed", (_job, error) => failed(error));
      await worker.waitUntilReady();
      return worker;
    },
  };
}

/** Without what only its use on Redis needs. */
export const bullmqPackage = (): Promise<typeof import("bullmq")> => peer(["bullmq@6"], () => import("bullmq"));

/** It adds to the `options` of a configuration, over which those of a URL would win. */
function connectionOptions(url: string): { connectionString: string; options: string } {
  const connection = new URL(url);
  const options = connection.searchParams.get("options") ?? "";
  connection.searchParams.delete("options");
  return { connectionString: connection.href, options };
}
