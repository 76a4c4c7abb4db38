import type { Queue } from "@pgque/client";
import type { Handler, WorkerOptions } from "@pgque/worker";

/** What a file in a folder of tasks exports by default, when a function is not enough: options are the worker's. */
export interface Task<Output = unknown> extends Omit<WorkerOptions, "log"> {
  /** The queue to serve. Default: the one named like the file, with any payload. */
  queue?: Queue<unknown, Output> | undefined;
  handler: Handler<Output>;
}

/**
 * Gives a task its types: the message's payload is that of the queue.
 *
 * @example
 * // tasks/orders.ts
 * export default defineTask({ queue: orders, concurrency: 50, handler: async ({ payload }) => charge(payload.orderId) });
 */
export function defineTask<Output = unknown>(task: Task<Output>): Task<Output> {
  return task;
}
