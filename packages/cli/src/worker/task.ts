import type { MessageOf, MessageTypes, Queue } from "@pgque/client";
import type { Handler, WorkerOptions } from "@pgque/worker";

/** What a file in a folder of tasks exports by default, when a function is not enough: options are the worker's. */
export interface Task<Types extends MessageTypes = MessageTypes> extends Omit<WorkerOptions<Types>, "log"> {
  /** The queue to serve. Default: the one named like the file, with any payload. */
  queue?: Queue<Types> | undefined;
  handler: Handler<MessageOf<Types>>;
}

/**
 * Gives a task its types: the message's payload is that of the queue.
 *
 * @example
 * // tasks/orders.ts
 * export default defineTask({ queue: orders, concurrency: 50, handler: async ({ payload }) => charge(payload.orderId) });
 */
export function defineTask<Types extends MessageTypes = MessageTypes>(task: Task<Types>): Task<Types> {
  return task;
}
