import type { BullBackend, BullQueue } from "../workers/bullmq-backend.ts";
import type { Failure } from "../failure.ts";
import { pushed } from "./pushed.ts";
import type { Consumers, Send, Workload } from "./system.ts";

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
