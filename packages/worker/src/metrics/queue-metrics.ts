import { isPgqueError, type ConsumerStatus, type Pgque, type QueueStatus } from "@pgque/client";
import { Gauge } from "prom-client";
import type { Worker } from "../worker.ts";
import type { MetricRegistry } from "./metric-registry.ts";

interface Status {
  /** 0: it did not answer. */
  up: 0 | 1;
  queues: QueueStatus[];
  consumers: ConsumerStatus[];
}

/** What the database says of the workers' queues, asked at each scrape. What it does not say in time is left out of it. */
export function gaugeQueues(
  workers: readonly Worker<never>[],
  metricRegistry: MetricRegistry,
  timeoutMs: number,
): void {
  const ask = sharing(() =>
    statusOf(workers, AbortSignal.timeout(timeoutMs)).catch((): Status => ({ up: 0, queues: [], consumers: [] })),
  );
  const up: Gauge = new Gauge({
    ...metricRegistry.metric("status_up", "1 when the database has answered this scrape in time, else 0.", []),
    async collect() {
      up.set((await ask()).up);
    },
  });
  const ofQueue = (name: string, help: string, valueOf: (status: QueueStatus) => number): void => {
    const gauge: Gauge = new Gauge({
      ...metricRegistry.metric(name, help, ["queue"]),
      async collect() {
        const { queues } = await ask();
        gauge.reset();
        for (const status of queues) gauge.set({ queue: status.name }, valueOf(status));
      },
    });
  };
  const ofConsumer = (name: string, help: string, valueOf: (status: ConsumerStatus) => number): void => {
    const gauge: Gauge = new Gauge({
      ...metricRegistry.metric(name, help, ["queue", "consumer"]),
      async collect() {
        const { consumers } = await ask();
        gauge.reset();
        for (const status of consumers) {
          gauge.set({ queue: status.queue, consumer: status.name }, valueOf(status));
        }
      },
    });
  };
  ofConsumer("consumer_depth", "Messages that the consumer can receive.", ({ depth }) => depth);
  ofConsumer(
    "consumer_lag_seconds",
    "How long ago the oldest of them was sent; 0 without any.",
    ({ lagMs }) => (lagMs ?? 0) / 1000,
  );
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

/** All consumers of the queues that the workers receive from, each asked for once. One that is not there, yet or any more, says nothing of the others. */
async function statusOf(workers: readonly Worker<never>[], signal: AbortSignal): Promise<Status> {
  const queues = new Map<Pgque, Set<string>>();
  for (const { pgque, queue } of workers) queues.set(pgque, (queues.get(pgque) ?? new Set()).add(queue));
  const asked = Array.from(queues, ([pgque, names]) => Array.from(names, (name) => statusOfQueue(pgque, name, signal)));
  const answers = (await Promise.all(asked.flat())).filter((answer) => answer !== undefined);
  return { up: 1, queues: answers.map(({ queue }) => queue), consumers: answers.flatMap(({ consumers }) => consumers) };
}

/** Undefined: there is no such queue. */
async function statusOfQueue(pgque: Pgque, name: string, signal: AbortSignal) {
  try {
    const queue = await pgque.queues.status(name, { signal });
    return { queue, consumers: await pgque.consumers.list(name, { signal }) };
  } catch (error) {
    if (isPgqueError(error, "QUEUE_NOT_FOUND")) return undefined;
    throw error;
  }
}
