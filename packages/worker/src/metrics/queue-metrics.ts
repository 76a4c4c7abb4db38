import { isPgqueError, type ConsumerStatus, type Pgque, type QueueStatus } from "@pgque/client";
import type { Worker } from "../worker.ts";
import type { MetricRegistry } from "./metric-registry.ts";

interface Status {
  queue: QueueStatus;
  consumers: ConsumerStatus[];
}

/** What the database says of the workers' queues, asked at each scrape. What it does not say in time is left out of it. */
export function gaugeQueues(workers: readonly Worker<never>[], registry: MetricRegistry, timeoutMs: number): void {
  const ask = sharing(() => statusOf(workers, AbortSignal.timeout(timeoutMs)).catch(() => undefined));
  registry.gauge("status_up", "1 when the database has answered this scrape in time, else 0.", [], async () => [
    { labels: {}, value: (await ask()) === undefined ? 0 : 1 },
  ]);
  const ofQueue = (name: string, help: string, valueOf: (status: QueueStatus) => number): void =>
    registry.gauge(name, help, ["queue"], async () =>
      ((await ask()) ?? []).map(({ queue }) => ({ labels: { queue: queue.name }, value: valueOf(queue) })),
    );
  const ofConsumer = (name: string, help: string, valueOf: (status: ConsumerStatus) => number): void =>
    registry.gauge(name, help, ["queue", "consumer"], async () =>
      ((await ask()) ?? [])
        .flatMap(({ consumers }) => consumers)
        .map((status) => ({ labels: { queue: status.queue, consumer: status.name }, value: valueOf(status) })),
    );
  ofConsumer("consumer_depth", "Messages that the consumer can receive.", ({ depth }) => depth);
  const lag = "How long ago the oldest of them was sent; 0 without any.";
  ofConsumer("consumer_lag_seconds", lag, ({ lagMs }) => (lagMs ?? 0) / 1000);
  ofConsumer("consumer_in_flight", "Messages received and not settled, by all workers.", ({ inFlight }) => inFlight);
  ofQueue("queue_delayed", "Messages that wait for their time, retries included.", ({ delayed }) => delayed);
  ofQueue("queue_dead_letters", "Dead letters.", ({ deadLetters }) => deadLetters);
  ofQueue("queue_bytes", "What the queue takes on disk, without indexes.", ({ bytes }) => bytes);
}

/** Gauges are collected at the same time: those of one scrape ask together. */
function sharing<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () =>
    (answer ??= ask().finally(() => {
      answer = undefined;
    }));
}

/** Of the queues that the workers receive from, each asked for once. One that is not there, yet or any more, says nothing of the others. */
async function statusOf(workers: readonly Worker<never>[], signal: AbortSignal): Promise<Status[]> {
  const queues = new Map<Pgque, Set<string>>();
  for (const { pgque, queue } of workers) queues.set(pgque, (queues.get(pgque) ?? new Set()).add(queue));
  const asked = Array.from(queues, ([pgque, names]) => Array.from(names, (name) => statusOfQueue(pgque, name, signal)));
  return (await Promise.all(asked.flat())).filter((answer) => answer !== undefined);
}

/** Undefined: there is no such queue. */
async function statusOfQueue(pgque: Pgque, name: string, signal: AbortSignal): Promise<Status | undefined> {
  try {
    const queue = await pgque.queues.status(name, { signal });
    return { queue, consumers: await pgque.consumers.list(name, { signal }) };
  } catch (error) {
    if (isPgqueError(error, "QUEUE_NOT_FOUND")) return undefined;
    throw error;
  }
}
