import { randomBytes } from "node:crypto";
import { type MessageTypes, type Pgque, type Queue, defineQueue } from "@pgque/client";
import { type HandlerOf, Worker, type WorkerOptions } from "@pgque/worker";
import { onTestFinished } from "vitest";

/**
 * A queue of the test's own, that is created and has the consumer `default`, so that what is sent before a worker starts waits for it. What fails
 * for good is a dead letter soon.
 */
export async function freshQueue(pgque: Pgque, options: Parameters<typeof defineQueue>[1] = {}): Promise<Queue> {
  const queue = defineQueue(`q-${randomBytes(4).toString("hex")}`, { maxRetries: 5, ...options });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default");
  return queue;
}

const quick = { retryMinMs: 10, retryMaxMs: 50, pollMaxMs: 50, maintainIntervalMs: 100, shutdownTimeoutMs: 5000 };

/** A worker that is stopped with the test, and quick to try again. */
export function makeWorker<Types extends MessageTypes, IsBatch extends boolean = false>(
  pgque: Pgque,
  queue: Queue<Types>,
  handler: HandlerOf<Types, IsBatch>,
  options: WorkerOptions<NoInfer<Types>, IsBatch> = {},
): Worker<Types, IsBatch> {
  const worker = new Worker(pgque, queue, handler, { ...quick, log: silent, ...options });
  onTestFinished(() => worker.stop());
  return worker;
}

export async function startWorker<Types extends MessageTypes, IsBatch extends boolean = false>(
  ...args: Parameters<typeof makeWorker<Types, IsBatch>>
): Promise<Worker<Types, IsBatch>> {
  const worker = makeWorker(...args);
  await worker.start();
  return worker;
}

const nothing = (): void => undefined;
export const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Something that handlers wait for. */
export function gate(): { open: () => void; passed: Promise<void> } {
  let open = nothing;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

/** How many messages of the queue are waiting or open, for the consumer `default`. */
export async function unfinished(pgque: Pgque, queue: Queue): Promise<{ open: number; dead: number }> {
  const { rows } = await pgque.pool.query(
    `select (select count(*) from pgque.open_batches(q.id))::int as open,
            (select count(*) from pgque.dead_letter d where d.queue_id = q.id)::int as dead
       from pgque.queue q
      where q.name = $1`,
    [queue.name],
  );
  return rows[0];
}
