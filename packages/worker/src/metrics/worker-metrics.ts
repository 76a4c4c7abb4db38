import type { WorkerHealth } from "../health/health.ts";
import type { Worker } from "../worker.ts";
import type { MetricRegistry } from "./metric-registry.ts";

/** What the health of workers says, read at each scrape. Workers of one consumer add up; of a yes or no, no wins. */
export function gaugeWorkers(workers: readonly Worker<never>[], registry: MetricRegistry): void {
  // no name has a U+0000
  const groups = Map.groupBy(workers, ({ queue, consumer }) => `${queue}\0${consumer}`);
  const gauge = (name: string, help: string, valueOf: (health: WorkerHealth) => number, join = sum): void =>
    registry.gauge(name, help, ["queue", "consumer"], async () =>
      Array.from(groups, ([key, group]) => {
        const [queue = "", consumer = ""] = key.split("\0");
        return { labels: { queue, consumer }, value: join(group.map((worker) => valueOf(worker.health()))) };
      }),
    );
  gauge("handlers_running", "Handlers that run.", ({ running }) => running);
  gauge("messages_held", "Messages received and not handled yet, those being handled included.", ({ held }) => held);
  gauge("batches_unsettled", "Batches that are handled and not settled.", ({ unsettledBatches }) => unsettledBatches);
  gauge("workers_ready", "Workers that are ready.", ({ isReady }) => Number(isReady));
  gauge(
    "database_up",
    "1 while the database answers every part of every worker, else 0.",
    ({ failing }) => (failing.length === 0 ? 1 : 0),
    (values) => Math.min(...values),
  );
  gauge(
    "handler_oldest_seconds",
    "For how long the longest of the handlers that run has been running.",
    ({ oldestRunningMs }) => (oldestRunningMs ?? 0) / 1000,
    (values) => Math.max(...values),
  );
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
